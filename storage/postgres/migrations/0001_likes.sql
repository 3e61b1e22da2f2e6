-- The truth: who likes what, and for each item an exact count.
--
-- A statement ends with a semicolon and an empty line. Migrations go forward only; this file must not
-- change once it was released.

-- One partition for each item type, with the primary key (user_id, item_id): made by migrate, because the
-- types are configuration. The type is not in the key: 10 bytes a like less.
CREATE TABLE user_likes (
  user_id int8 NOT NULL CHECK (user_id > 0),
  item_id int8 NOT NULL CHECK (item_id > 0),
  created_at int4 NOT NULL DEFAULT extract(epoch FROM now())::int4,
  item_type int2 NOT NULL
) PARTITION BY LIST (item_type);

-- Room on each page for HOT updates: a counter's row is rewritten by each batch that touches it. Rows are
-- never deleted, or a version would start again.
CREATE TABLE counters (
  item_id int8 NOT NULL,
  count int8 NOT NULL CHECK (count >= 0),
  version int8 NOT NULL CHECK (version > 0),
  digest int8 NOT NULL,
  item_type int2 NOT NULL,
  PRIMARY KEY (item_type, item_id)
) WITH (fillfactor = 75);

-- What a cache has still to be told: one row for each batch that changed something, in the batch's own
-- transaction; deleted when the cache has it. types[i] belongs to ids[i].
CREATE TABLE cache_outbox (
  id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  lane int2 NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  types int2[] NOT NULL,
  ids int8[] NOT NULL
);

-- Rows come and go all the time; the table stays small only if the dead ones are taken away soon.
ALTER TABLE cache_outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Names this store for ever, so that versions of another one are not taken for its own.
CREATE TABLE store_identity (
  only_row bool PRIMARY KEY DEFAULT true CHECK (only_row),
  store_id text NOT NULL
);

INSERT INTO store_identity (store_id) VALUES (replace(gen_random_uuid()::text, '-', ''));

-- What a liker adds to the digest of an item: SplitMix64's finalizer, as LikerMix of storage/like.h. bigint
-- overflows instead of wrapping around, so the product is put together from pieces of 16 and 32 bits.
CREATE FUNCTION counter_mul64(a int8, b_high int8, b_low int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  m CONSTANT int8 := 4294967295;
  a_low CONSTANT int8 := a & m;
  a_high CONSTANT int8 := (a >> 32) & m;
  t0 CONSTANT int8 := a_low * (b_low & 65535);
  t1 CONSTANT int8 := a_low * (b_low >> 16);
  low CONSTANT int8 := t0 + ((t1 & m) << 16);
  high CONSTANT int8 := (low >> 32) + ((t1 >> 32) << 16)
    + ((a_high * (b_low & 65535)) & m) + (((a_high * (b_low >> 16)) & 65535) << 16)
    + ((a_low * (b_high & 65535)) & m) + (((a_low * (b_high >> 16)) & 65535) << 16);
BEGIN
  RETURN ((high & m) << 32) | (low & m);
END $$;

CREATE FUNCTION counter_liker_mix(user_id int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  m CONSTANT int8 := 4294967295;
  low CONSTANT int8 := (user_id & m) + 2135587861;
  x int8 := (((((user_id >> 32) & m) + 2654435769 + (low >> 32)) & m) << 32) | (low & m);
BEGIN
  -- A right shift of int8 keeps the sign; the masks make it a shift of 64 plain bits.
  x := counter_mul64(x # ((x >> 30) & 17179869183), 3210233709, 484763065);
  x := counter_mul64(x # ((x >> 27) & 137438953471), 2496678331, 321982955);
  RETURN x # ((x >> 31) & 8589934591);
END $$;
