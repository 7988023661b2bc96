-- A service that a deployment removes is gone afterwards; the deployment still says which one it was.
ALTER TABLE deployment_item ADD COLUMN service_name TEXT NOT NULL DEFAULT '';

UPDATE deployment_item SET service_name = coalesce((SELECT name FROM service WHERE id = service_id), '');
