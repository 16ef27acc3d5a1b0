-- name: signal
SELECT place, outcome, id, name, version, status, awaited, elsewhere
FROM saga.signal(:ids, :names, :correlation_ids, :signals, :message_ids, :payloads, :known) ORDER BY place;
