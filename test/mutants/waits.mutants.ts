import { type Mutant, simulation, specs, testsOf } from './mutant.js';

/** Of steps that wait for signals and people, and of messages: everywhere. */
const machine = [specs('machine/waits'), simulation(100), specs('machine/graph.properties')];
const engine = [
  specs('engine/run/run-signals', 'engine/waits-by-hand', 'engine/run/saga-run'),
  simulation(100),
  specs('test/sagas/publish', 'test/sagas/approvals'),
];
const NAMES = 'what a saga waits for|what a saga was sent|a batch of signals|what a checkpoint publishes';
const memory = [testsOf('store/memory/memory-saga-store', NAMES), simulation(100)];
const postgres = [testsOf('store/postgres/postgres-saga-store', NAMES)];

export const WAIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'take a signal again',
    file: 'machine/waits.ts',
    find: 'return (state.heard?.[name] ?? 0) < number ? stepAwaiting(graph, state, name) : undefined;',
    replace: 'return number > 0 ? stepAwaiting(graph, state, name) : undefined;',
    killers: machine,
  },
  {
    name: 'forget up to which number signals were taken',
    file: 'machine/waits.ts',
    find: 'return { ...state, heard: { ...state.heard, [name]: number } };',
    replace: 'return { ...state, heard: { [name]: number } };',
    killers: machine,
  },
  {
    name: 'give a signal to a step that waits for another',
    file: 'machine/waits.ts',
    find: 'if (step?.wait?.signal === signal && awaitsSignal(step) && !step.cut) return name;',
    replace: 'if (step?.wait && signal && awaitsSignal(step) && !step.cut) return name;',
    killers: machine,
  },
  {
    name: 'take a signal while the saga turns back',
    file: 'machine/waits.ts',
    find: "if (state.status !== 'running') return undefined;",
    replace: "if (state.status === 'completed') return undefined;",
    killers: machine,
  },
  {
    name: 'let a wait be over before its time',
    file: 'machine/waits.ts',
    find: "if (state.status !== 'running' || !awaitsSignal(step) || !(step.wait!.until! <= now)) return state;",
    replace: "if (state.status !== 'running' || !awaitsSignal(step) || now < 0) return state;",
    killers: machine,
  },
  {
    name: 'let time pass for what has come',
    file: 'machine/waits.ts',
    find: "if (state.status !== 'running' || !awaitsSignal(step) || !(step.wait!.until! <= now)) return state;",
    replace: "if (state.status !== 'running' || !step.wait || !(step.wait.until! <= now)) return state;",
    killers: machine,
  },
  {
    name: 'wait for ever, whatever the timeout',
    file: 'machine/decide.ts',
    find: 'plan.rest(wait.until);',
    replace: 'plan.rest(undefined);',
    killers: machine,
  },
  {
    name: 'take a saga that only waits for stuck',
    file: 'machine/decide.ts',
    find: 'return this.rests || this.wakeAt !== undefined;',
    replace: 'return this.wakeAt !== undefined;',
    killers: machine,
  },
  {
    name: 'run a step that waits before anything has come',
    file: 'machine/decide.ts',
    find: 'else if (node.wait !== undefined && step.wait?.heard === undefined) planWait(plan, node, step);',
    replace: 'else if (node.wait !== undefined && step.wait === undefined) planWait(plan, node, step);',
    killers: machine,
  },
  {
    name: 'wait on in a branch that has lost',
    file: 'machine/join-any.ts',
    find: "? { ...step, status: 'skipped', retryAt: undefined, wait: undefined, cut: true }",
    replace: '? { ...step, cut: true }',
    killers: machine,
  },
  {
    name: 'try a refused step again with what it refused',
    file: 'machine/waits.ts',
    find: `    errors: withError(step, error, now, 'step'),
    wait: undefined,`,
    replace: `    errors: withError(step, error, now, 'step'),`,
    killers: machine,
  },
  {
    name: 'delay a wait again that is tried again',
    file: 'machine/evolve.ts',
    find: "return attempts === 0 ? 'waiting' : 'pending';",
    replace: "return attempts < 0 ? 'waiting' : 'pending';",
    killers: machine,
  },
  {
    name: 'ask for another signal when the method is tried again by hand',
    file: 'machine/evolve.ts',
    find: 'return wait?.heard === undefined ? undefined : wait;',
    replace: 'return wait?.heard === undefined ? wait : undefined;',
    killers: machine,
  },
  {
    name: 'take over without knowing what had come',
    file: 'engine/run/saga-run.ts',
    find: 'this.signals?.hear(this.record, { withRefusals: false });',
    replace: '',
    killers: engine,
  },
  {
    name: 'hear of a refusal before what a lost worker was at',
    file: 'engine/run/saga-run.ts',
    find: 'this.signals?.hear(this.record, { withRefusals: false });',
    replace: 'this.signals?.hear(this.record);',
    killers: engine,
  },
  {
    name: 'let a wait be over without asking whether its signal has come',
    file: 'engine/run/run-signals.ts',
    find: 'if (until <= time && until > this.asOf && awaitsSignal(step)) time = until - 1;',
    replace: 'if (until < 0 && until > this.asOf && awaitsSignal(step)) time = until - 1;',
    killers: engine,
  },
  {
    name: 'let time pass before an operator’s retry has heard what came',
    file: 'engine/operate/operator-edits.ts',
    find: 'follow(graph, heard(graph, evolved, saga, now), now)',
    replace: 'follow(graph, heard(graph, evolved, { ...saga, signals: [] }, now), now)',
    killers: engine,
  },
  {
    name: 'let somebody reject what was approved',
    file: 'engine/operate/approvals.ts',
    find: 'if (wait?.heard !== undefined)',
    replace: 'if (wait?.heard === 0)',
    killers: engine,
  },
  {
    name: 'do not look for what came while the saga is held',
    file: 'engine/run/saga-run.ts',
    find: 'if (await this.signals?.look()) this.inbox.put({ wake: true });',
    replace: '',
    killers: engine,
  },
  {
    name: 'publish what an attempt said that failed',
    file: 'engine/run/saga-run.ts',
    find: 'if (attempt && ended) this.checkpoints.publish(attempt.step, attempt.messages.all);',
    replace: 'if (attempt) this.checkpoints.publish(attempt.step, attempt.messages.all);',
    killers: engine,
  },
  {
    name: 'publish the same with each checkpoint',
    file: 'engine/run/run-checkpoints.ts',
    find: 'if (messages) this.published = this.published.filter(({ message }) => !messages.includes(message));',
    replace: 'void messages;',
    killers: engine,
  },
  {
    name: 'publish what a step said whose result cannot be stored',
    file: 'engine/run/run-checkpoints.ts',
    find: 'this.published = this.published.filter(({ step }) => !steps.includes(step));',
    replace: 'void steps;',
    killers: engine,
  },
  {
    name: 'publish what the method said before it was called again',
    file: 'engine/attempt/step-messages.ts',
    find: `    this.messages = NOTHING;
    this.isOpen = true;`,
    replace: '    this.isOpen = true;',
    killers: engine,
  },
  {
    name: 'keep a signal twice that was sent again (in memory)',
    file: 'store/memory/memory-signals.ts',
    find: "if (row.signals.some((kept) => kept.messageId === messageId)) return { outcome: 'known', saga: told };",
    replace: '',
    killers: memory,
  },
  {
    name: 'do not wake a saga that waits for a signal (in memory)',
    file: 'store/memory/memory-saga-store.ts',
    find: `      row.saga.dueAt = now;
      this.wakeup.announceDue();
    } else if`,
    replace: `      this.wakeup.announceDue();
    } else if`,
    killers: memory,
  },
  {
    name: 'forget that a signal came while the saga was held (in memory)',
    file: 'store/memory/memory-saga-store.ts',
    find: `      row.woken = true;
      this.wakeup.announce({ type: 'look', id: row.saga.id });`,
    replace: `      this.wakeup.announce({ type: 'look', id: row.saga.id });`,
    killers: memory,
  },
  {
    name: 'keep a signal twice that was sent again',
    file: 'store/postgres/schema/functions/signal.function.ts',
    find: 'WHERE g.saga_id = given.id AND g.message_id = given.message_id',
    replace: 'WHERE g.saga_id = given.id AND g.message_id = given.message_id AND false',
    killers: postgres,
  },
  {
    name: 'do not wake a saga that waits for a signal',
    file: 'store/postgres/schema/functions/signal.function.ts',
    find: 'due_at = CASE WHEN saga.waits THEN now() ELSE i.due_at END',
    replace: 'due_at = i.due_at',
    killers: postgres,
  },
  {
    name: 'forget that a signal came while the saga was held',
    file: 'store/postgres/schema/functions/signal.function.ts',
    find: 'woken = i.woken OR saga.locked_by IS NOT NULL',
    replace: 'woken = i.woken',
    killers: postgres,
  },
  {
    name: 'keep a signal for a saga that has ended',
    file: 'store/postgres/schema/functions/signal.function.ts',
    find: "saga.status IN ('completed', 'compensated', 'aborted')",
    replace: "saga.status IN ('compensated', 'aborted')",
    killers: postgres,
  },
  {
    name: 'tell a saga again what it has taken',
    file: 'store/postgres/signals/unheard.sql.ts',
    find: "${g}.number > coalesce((${i}.progress -> 'heard' ->> ${g}.name)::int, 0)",
    replace: '${g}.number > 0',
    killers: postgres,
  },
  {
    name: 'publish what a checkpoint said that was fenced off',
    file: 'store/postgres/schema/functions/checkpoint-publish.function.ts',
    find: 'WHERE m.saga_id = ANY(saved)',
    replace: 'WHERE m.saga_id IS NOT NULL',
    killers: postgres,
  },
  {
    name: 'publish again what was stored before',
    file: 'store/postgres/schema/functions/checkpoint-publish.function.ts',
    find: 'IF cardinality(saved) = cardinality(${saved}) THEN',
    replace: 'IF true THEN',
    killers: postgres,
  },
];
