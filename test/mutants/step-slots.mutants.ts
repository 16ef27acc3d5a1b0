import { type Mutant, specs } from './mutant.js';
import { contract } from './store-contract.js';

const CONTRACT = contract('the slots of a step');

/** Mutants of the limit of steps. */
export const STEP_SLOT_MUTANTS: readonly Mutant[] = [
  {
    name: 'do not count the slots that were called for a saga',
    in: 'promote_slots',
    find: "WHERE :OF_LIMIT AND s.state <> 'waiting' AND s.state <> 'late';",
    replace: "WHERE :OF_LIMIT AND s.state = 'taken';",
    killers: CONTRACT,
  },
  {
    name: 'forget that a saga waits, together with a slot that it did not know of',
    in: 'settle_slots',
    find: 'IF lost.rests THEN',
    replace: 'IF lost.rests IS NULL THEN',
    killers: CONTRACT,
  },
  {
    name: 'let a saga that comes late for its slot wait behind all others',
    in: 'settle_slots',
    find: "UPDATE saga.step_slot s SET state = 'late'\n  WHERE",
    replace: 'DELETE FROM saga.step_slot s\n  WHERE',
    killers: CONTRACT,
  },
  {
    name: 'let a saga in that was called, whatever the limit of its version',
    in: 'take_slots',
    find: "state = CASE WHEN s.state = 'taken' THEN s.state",
    replace: "state = CASE WHEN s.state IN ('taken', 'called') THEN 'taken'",
    killers: CONTRACT,
  },
  {
    name: 'call for a slot by the limit of another version',
    in: 'promote_slots',
    find: 'ELSE $5[array_position($4, waiter.version)] END;',
    replace: 'ELSE $5[1] END;',
    killers: CONTRACT,
  },
  {
    name: 'let a saga that is called for a slot wait behind what became due since',
    in: 'call_all',
    find: "i.rank_at - greatest(now() - called.since, interval '0')",
    replace: 'i.rank_at',
    killers: CONTRACT,
  },
  {
    name: 'keep a slot until the clock of the database has come back to where it was set back from',
    find: ":column BETWEEN clock_timestamp() - interval ':ms milliseconds' AND clock_timestamp()",
    replace: ":column > clock_timestamp() - interval ':ms milliseconds'",
    killers: CONTRACT,
  },
  {
    name: 'keep the slot of a lease that has run out',
    in: 'fence_slots',
    find: 'UPDATE saga.instance i SET epoch = i.epoch + 1 WHERE i.id = ANY(lapsed);',
    replace: '',
    killers: CONTRACT,
  },
  {
    name: 'free a slot that was taken again in a later turn',
    in: 'free_slots',
    find: 'AND s.epoch = $6 AND s.turn <= $7;',
    replace: 'AND s.epoch = $6;',
    killers: CONTRACT,
  },
  {
    name: 'let a lost worker take a slot',
    in: 'take_slots',
    find: 'IF NOT FOUND THEN RETURN NULL; END IF;',
    replace: '',
    killers: CONTRACT,
  },
  {
    name: 'keep a slot while a step waits for its next attempt',
    find: 'return !active && (attempts > before || !mayBegin);',
    replace: 'return !active && !mayBegin;',
    killers: [specs('limits/step-slots')],
  },
  {
    name: 'settle a saga as stuck while its items wait for slots',
    find: 'if (rests && items.has(KIND.queued)) plan.rest(undefined);',
    replace: '',
    killers: [specs('machine/slots')],
  },
  {
    name: 'give a step that waits no slot',
    in: 'slotGranted',
    find: 'withStep(state, step, { slot: undefined })',
    replace: 'withStep(state, step, {})',
    killers: [specs('machine/slots')],
  },
  {
    name: 'begin a step that waits for a slot',
    find: 'if (isQueued(node, step) && !plan.lost) return plan.rest(undefined);',
    replace: '',
    killers: [specs('machine/slots')],
  },
  {
    name: 'do not suspect a step that waited for a slot when its worker is lost',
    find: 'if (isQueued(node, step) && !plan.lost) return plan.rest(undefined);',
    replace: 'if (isQueued(node, step)) return plan.rest(undefined);',
    killers: [specs('machine/slots')],
  },
  {
    name: 'let a step wait for a slot after its saga rolls back',
    find: 'export const GIVES_UP = KIND.pending | KIND.waiting | KIND.queued | KIND.running | TIMED;',
    replace: 'export const GIVES_UP = KIND.pending | KIND.waiting | KIND.running | TIMED;',
    killers: [specs('machine/slots')],
  },
  {
    name: 'let an item that waits for a slot keep no place of its saga',
    find: 'const IN_PROGRESS = KIND.active | KIND.queued;',
    replace: 'const IN_PROGRESS: number = KIND.active;',
    killers: [specs('machine/slots')],
  },
  {
    name: 'let a step that asks for a slot again wait from then on',
    find: 'const waits = nodeOf(graph, step).limit !== undefined && slot === undefined;',
    replace:
      'const waits = nodeOf(graph, step).limit !== undefined && (slot === undefined || slot.since < now);',
    killers: [specs('machine/slots')],
  },
  {
    name: 'let an item of a dropped step wait for a slot',
    find: 'if (!waits || isDropped(stepState(state, stepOfKey(step)))) return state;',
    replace: 'if (!waits) return state;',
    killers: [specs('machine/slots')],
  },
  {
    name: 'let a saga that is called for a slot rest again without asking for it',
    find: 'return !this.halts && slots.mayAsk(this.state) && ',
    replace: 'return this.halts && slots.mayAsk(this.state) && ',
    killers: [specs('run/run-slots')],
  },
  {
    name: 'take no notice of a call for a slot during a run',
    find: 'this.slots.forget();\n    this.inbox.put({ wake: true });',
    replace: 'this.inbox.put({ wake: true });',
    killers: [specs('run/run-slots')],
  },
  {
    name: 'keep the time at which a run asked for a slot, although it was called',
    in: 'RunSlots.forget',
    find: 'this.slots.set(step, { ...slot, askedAt: -Infinity });',
    replace: 'this.slots.set(step, { ...slot });',
    killers: [specs('run/run-slots')],
  },
  {
    name: 'wait for ever for a call for a slot that was lost',
    find: 'return waits.length > 0 ? Math.max(0, Math.min(...waits)) : undefined;',
    replace: 'return waits.length < 0 ? Math.max(0, Math.min(...waits)) : undefined;',
    killers: [specs('run/run-slots')],
  },
  {
    name: 'ask for a slot by another formula than that of the wait for it',
    find: 'filter(([step]) => this.timeUntilAsked(step) <= 0);',
    replace:
      'filter(([step]) => { const asked = this.slots.get(step)?.askedAt ?? -Infinity; return this.ports.clock.monotonic() - asked >= SLOT_KEPT_MS; });',
    killers: [specs('run/run-slots')],
  },
  {
    name: 'wait for ever for a slot whose place was dropped during a rollback to a savepoint',
    find: "if (isAny || state.status !== 'running') this.forget();",
    replace: 'if (isAny) this.forget();',
    killers: [specs('run/run-slots')],
  },
  {
    name: 'do not ask for the slot that another item of the saga has freed',
    find: "if (isAny || state.status !== 'running') this.forget();",
    replace: "if (state.status !== 'running') this.forget();",
    killers: [specs('run/run-slots')],
  },
  {
    name: 'forget a slot that could not be freed',
    find: 'this.unfreed.push(one);',
    replace: '',
    killers: [specs('run/run-slots')],
  },
  {
    name: 'leave an at-most-once step recorded as running that did not begin',
    find: "this.apply({ type: 'start-withdrawn', step: key });",
    replace: 'void key;',
    killers: [specs('run/saga-run')],
  },
];
