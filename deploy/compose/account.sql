-- The account that servers log in as: a member of counter_serving, which may change rows and nothing else.
-- Wants COUNTER_PASSWORD in the environment; safe to repeat, and changes the password then.
\getenv password COUNTER_PASSWORD
SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'counter') AS is_new \gset
\if :is_new
CREATE ROLE counter LOGIN;
\endif
ALTER ROLE counter PASSWORD :'password';
GRANT counter_serving TO counter;
