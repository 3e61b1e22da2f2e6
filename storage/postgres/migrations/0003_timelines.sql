-- Which timelines of the log this store has been on. Servers note the one of the primary that they follow. Two
-- things come of it: a replica on which the note has arrived is on that timeline, which it cannot say by itself; and
-- after a failover every server, also one that starts later, knows which commits the former primary may have taken
-- along.
CREATE TABLE store_timelines (
  timeline int8 PRIMARY KEY,
  seen timestamptz NOT NULL DEFAULT clock_timestamp(),
  kept_until timestamptz
);

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'counter_serving') THEN
    GRANT SELECT, INSERT ON store_timelines TO counter_serving;
  END IF;
END $$;
