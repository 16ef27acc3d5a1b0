-- fragment: IS_PENDING(g)
-- Of the signal g: the saga i has not taken it yet.
:g.number > coalesce((i.progress -> 'lastTakenSignals' ->> :g.name)::int, 0)

-- fragment: PENDING_JSON(g)
json_build_object('number', :g.number, 'name', :g.name, 'messageId', :g.message_id, 'payload', :g.payload::text,
  'at', (extract(epoch FROM :g.sent_at) * 1000)::float8)

-- fragment: PENDING_SIGNALS
-- What the saga i was sent and has not taken yet, as JSON in order. Plan: by signal_pkey, and not at all for the many sagas
-- that were sent nothing.
CASE WHEN i.signals > 0 THEN (SELECT json_agg(:PENDING_JSON(g) ORDER BY g.number)
    FROM saga.signal g
    WHERE g.saga_id = i.id AND :IS_PENDING(g)) END
