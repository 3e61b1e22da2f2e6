-- The rights of a server: rows, no DDL. The owner of the tables migrates; servers log in as a member of
-- counter_serving. An owner without CREATEROLE goes on without the role: then an administrator makes it,
-- and grants the same, or servers log in as the owner.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'counter_serving') THEN
    CREATE ROLE counter_serving NOLOGIN;
  END IF;
EXCEPTION
  -- Roles belong to all databases of the server: another one may be migrated at this moment.
  WHEN duplicate_object OR unique_violation THEN NULL;
  WHEN insufficient_privilege THEN RAISE NOTICE 'no right to create the role counter_serving';
END $$;

-- SELECT ... FOR UPDATE of the likes that an unlike deletes asks for the right to update some column.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'counter_serving') THEN
    GRANT SELECT, INSERT, DELETE, UPDATE (created_at) ON user_likes TO counter_serving;
    GRANT SELECT, INSERT, UPDATE ON counters TO counter_serving;
    GRANT SELECT, INSERT, DELETE, UPDATE (at) ON cache_outbox TO counter_serving;
    GRANT SELECT ON store_identity, counter_migrations TO counter_serving;
  END IF;
END $$;
