import { type Mutant, specs } from './mutant.js';
import { contract } from './store-contract.js';

/** Mutants of limits for each key, and of locks that reject. */
export const LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'do not count leases of a key for its limit',
    in: 'claim_keyed',
    find: 'WHERE m.place <= limited.slots ORDER BY',
    replace: 'ORDER BY',
    killers: contract('a limit for each key'),
  },
  {
    name: 'serve the sagas of all keys by their ranks alone',
    in: 'claim_keyed',
    find: 'ORDER BY m.place, m.turn_of_key LIMIT $6) c;',
    replace: 'ORDER BY m.rank_at LIMIT $6) c;',
    killers: contract('a limit for each key'),
  },
  {
    name: 'begin the turns of keys with the first one always',
    in: 'claim_keyed',
    find: 'ORDER BY k.key <= slots.last_key, k.key);',
    replace: 'ORDER BY k.key);',
    killers: contract('a limit for each key'),
  },
  {
    name: 'let two starts at once pass a lock that rejects',
    in: 'start_rejecting',
    find: 'PERFORM saga.lock_queues(n_name, n_lock_key);',
    replace: '',
    killers: [specs('limits/limits')],
  },
  {
    name: 'share the windows of a rate limit between its keys',
    in: 'reserve',
    find: 'INTO stored FROM saga.rate_limit r WHERE :OF_LIMIT FOR NO KEY UPDATE;',
    replace:
      "INTO stored FROM saga.rate_limit r WHERE r.saga = $1 AND r.step = $2 AND r.key >= '' ORDER BY r.key LIMIT 1 FOR NO KEY UPDATE;",
    killers: contract('a rate limit'),
  },
  {
    name: 'keep the times of a rate limit whose sagas were cancelled',
    in: 'reserve',
    find: 'CONTINUE WHEN NOT given_out.is_used AND NOT given_out.is_free;',
    replace: 'CONTINUE WHEN NOT given_out.is_used;',
    killers: contract('a rate limit'),
  },
  {
    name: 'give out a time of a rate limit that a saga waits for',
    in: 'reserve',
    find: "AND (s.progress ->> 'permit')::float8 = r.at))) AS is_free",
    replace: "AND (s.progress ->> 'permit')::float8 < r.at))) AS is_free",
    killers: contract('a rate limit'),
  },
  {
    name: 'count a time of a rate limit that was let pass, beside those to come',
    in: 'reserve',
    find: 'is_changed := is_changed OR FOUND;',
    replace: '',
    killers: contract('a rate limit'),
  },
  {
    name: 'count a time of a rate limit that was let pass, before any are to come',
    in: 'reserve',
    find: 'IF size IS NOT NULL THEN kept := kept[1 : size - 1] || kept[size + 1 :]; END IF;',
    replace: '',
    killers: contract('a rate limit'),
  },
  {
    name: 'give back a time of another saga',
    in: 'reserve',
    find: 'AND o.at = passed AND (o.holder IS NULL OR o.holder = $8) LIMIT 1);',
    replace: 'AND o.at = passed LIMIT 1);',
    killers: contract('a rate limit'),
  },
  {
    name: 'let those that wait by another limit hold back all that follow',
    in: 'reserve',
    find: 'is_changed := is_changed OR stored.count <> $4 OR stored.per <> $5;',
    replace: '',
    killers: contract('a rate limit'),
  },
  {
    name: 'let a rate limit stand still until the clock has come back to where it was set back from',
    in: 'reserve',
    find: 'IF kept[cardinality(kept)] > clock THEN kept := ARRAY(SELECT least(k, clock) FROM unnest(kept) k ORDER BY 1); END IF;',
    replace: 'kept := kept;',
    killers: contract('a rate limit'),
  },
  {
    name: 'let a saga begin by a time that its rate limit gave long ago',
    find: "return now > turn.at + permitSlack(rateLimit.per) ? 'ask' : 'begin';",
    replace: "return 'begin';",
    killers: [specs('machine/turn')],
  },
  {
    name: 'let a saga whose worker was lost begin without asking its rate limit again',
    find: 'if (graph.rateLimit) next = turnLost(graph, state, next, now);',
    replace: '',
    killers: [specs('machine/turn')],
  },
  {
    name: 'compensate a saga past its pivot at its deadline, if it waits for its rate limit',
    find: 'const deadline = deadlineOf(graph, state);',
    replace: 'const { deadline } = state;',
    killers: [specs('machine/turn')],
  },
  {
    name: 'ask the rate limit of a saga again that has no key for it, for ever',
    find: "return [...failedForGood(action.key, error, this.ports.now()), { type: 'begun' }];",
    replace: 'return failedForGood(action.key, error, this.ports.now());',
    killers: [specs('run/permits')],
  },
  {
    name: 'let a saga begin before the time that its rate limit gave',
    find: "if (turn.at > now) return 'wait';",
    replace: '',
    killers: [specs('machine/turn'), specs('limits/saga-rate')],
  },
];
