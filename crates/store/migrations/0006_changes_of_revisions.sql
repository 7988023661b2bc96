-- Another revision for a fleet changes one row for each agent, and no index: which configuration an agent runs stays the
-- same. The whole text of a status is kept for few agents, and whether it is need not be looked up in their reports.
ALTER TABLE agent_config ADD COLUMN config_id INTEGER;
UPDATE agent_config SET config_id = (SELECT config_id FROM config_revision WHERE id = agent_config.revision_id);
DROP INDEX agent_config_by_revision;
CREATE INDEX agent_config_by_config ON agent_config (config_id);
CREATE INDEX agent_report_by_status ON agent_report (agent_id) WHERE remote_config_status IS NOT NULL;
