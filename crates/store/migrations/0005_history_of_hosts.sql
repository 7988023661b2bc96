-- A host that has applied what this database never numbered begins a history of its own; the others go on with theirs.
ALTER TABLE host ADD COLUMN epoch TEXT;
