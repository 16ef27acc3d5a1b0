-- Order per key: the rule by which a relay reads a lane.
--
-- **Promise.** If transaction A committed before transaction B began to publish, then A's messages of a topic and key
-- are sent before B's. Whatever else is open, commits late or rolls back makes no difference.
--
-- **Why one read from the beginning keeps it.** A's messages have lower seqs than B's: one sequence gives them out as
-- they are published. A snapshot that shows B's commit shows A's. So a page that is read in one snapshot, from the
-- beginning of the lane and in the order of seq, has A's message before B's, or A's message is sent already, or it is
-- held, and then B's is held behind it in the same statement.
--
-- **Why a page may begin later.** Deleted rows stay in the index while any transaction is open, so the beginning of a
-- lane may be expensive to read. A lane keeps what is needed to know where unsent messages can be at all:
--
-- - `read_to`, `read_in`: all messages up to the seq `read_to` that the snapshot `read_in` shows are sent or held.
-- - `mark_xids`, `mark_seqs`: marks. A transaction whose xid is greater than that of a mark publishes only seqs that
-- are greater than the mark's. A settlement makes one, of its own xid and of `read_to`: a higher xid is given out
-- later, and `publish` takes its xid before it takes seqs.
--
-- A message at or below `read_to` that is visible now and was not visible in `read_in` belongs to a transaction that
-- was open then (it had its seq, and so its xid, before `read_in` was taken) and has ended since. `read_in` names the
-- transactions that were open, except those from its xmax on, all of which are taken as ended. So the page begins
-- behind the highest mark that is older than the oldest transaction that has ended since: `readFrom`. It is computed in
-- the statement that reads the page, in the same snapshot.
--
-- `safe_from` is the highest mark that is older than all transactions that were open in `read_in`, whichever end. It is
-- always right, and known when the page is read. A page begins there while it is near; only a transaction that stays
-- open takes it far behind, and then it is worth finding out which ones have ended.
--
-- **What this costs.** Nothing for publishers. A page reads again over what the page before it sent. A transaction that
-- stays open costs nothing while it is open, a stranger's as well as a publisher's, and stalls nothing. When it ends,
-- each lane is read once from a mark that is older than it.
--
-- A lane is read from its beginning if its last holder did not give it back, if something was left unsent or let go
-- (`read_to` is 0 then), and once a minute: the sequence and the xids of a database that was restored from a dump do
-- not belong together, and rows that were inserted without `publish` may have taken their seq before their xid.

-- fragment: FROM_START
-- A lane is read from its beginning at least so often.
interval '1 minute'

-- Marks that a lane keeps: the newest ones, and the oldest one of use.
\set NEWEST_MARKS 6

-- Seqs, of all lanes: to read over so many is less work than to look for transactions that have ended.
\set NEAR 20000

-- fragment: READ_FROM(l)
-- All messages of lane `l` (a row of outbox_lane) that may be sent now have a greater seq than this.
  CASE WHEN :l.leased_by IS NOT NULL OR :l.read_from_start_at <= now() - :FROM_START THEN 0
  WHEN :l.read_to - :l.safe_from <= :NEAR THEN least(:l.read_to, :l.safe_from)
  ELSE least(:l.read_to, (
    SELECT coalesce(max(m.seq), 0) FROM unnest(:l.mark_xids, :l.mark_seqs) AS m(xid, seq)
    WHERE m.xid < coalesce(
      (SELECT x.xid FROM pg_snapshot_xip(:l.read_in) AS x(xid)
        WHERE pg_visible_in_snapshot(x.xid, (SELECT pg_current_snapshot())) ORDER BY x.xid LIMIT 1),
      pg_snapshot_xmax(:l.read_in)))) END

-- fragment: SAFE_FROM(l)
-- `safe_from` of lane `l`, whose page is read in the current snapshot.
  (SELECT coalesce(max(m.seq), 0) FROM unnest(:l.mark_xids, :l.mark_seqs) AS m(xid, seq)
    WHERE m.xid < pg_snapshot_xmin(pg_current_snapshot()))

-- fragment: MARKS_AFTER_SETTLEMENT(l)
-- The marks of lane `l` after a settlement in the current transaction, as assignments. Once there are many, those of use
-- are kept: a mark is of no use if the next one is older than all transactions that were open in `read_in`.
  mark_xids = :MARKS(:l, xid, mark_xids) || pg_current_xact_id(),
  mark_seqs = :MARKS(:l, seq, mark_seqs) || :l.read_to

-- fragment: MARKS(l, of, kept)
    CASE WHEN cardinality(:l.mark_xids) < 2 * :NEWEST_MARKS THEN :l.:kept ELSE (
      SELECT coalesce(array_agg(m.:of ORDER BY m.xid), '{}') FROM (
        SELECT u.xid, u.seq, lead(u.xid) OVER w AS next, row_number() OVER w AS place, count(*) OVER () AS size
        FROM unnest(:l.mark_xids, :l.mark_seqs) AS u(xid, seq) WINDOW w AS (ORDER BY u.xid)) m
      WHERE (m.next IS NULL OR m.next >= pg_snapshot_xmin(:l.read_in))
        AND (m.place = 1 OR m.place > m.size - :NEWEST_MARKS)) END
