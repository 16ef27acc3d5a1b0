import { type Mutant, simulation, specs, testsOf } from './mutant.js';

/** Mutants of waits for signals and approvals, and of messages, in all modules. */
const machine = [specs('machine/waits'), simulation(100), specs('graph.properties', 'graph.coverage')];
const engine = [
  specs('run-signals', 'waits-and-operators', 'saga-run'),
  simulation(100),
  specs('sagas/publish', 'approvals'),
];
const NAMES = 'what a saga waits for|a signal to a saga|a batch of signals|what a checkpoint publishes';
const memory = [testsOf('memory-saga-store', NAMES), simulation(100)];
const postgres = [testsOf('postgres-saga-store', NAMES)];

export const WAIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'take a signal again',
    find: 'return (state.lastTakenSignals?.[name] ?? 0) < number ? stepAwaiting(graph, state, name, at) : undefined;',
    replace: 'return number > 0 ? stepAwaiting(graph, state, name, at) : undefined;',
    killers: machine,
  },
  {
    name: 'forget up to which number signals were taken',
    find: 'lastTakenSignals: { ...state.lastTakenSignals, [name]: number }',
    replace: 'lastTakenSignals: { [name]: number }',
    killers: machine,
  },
  {
    name: 'give a signal to a step that waits for another',
    find: 'if (step.wait?.signal !== signal) continue;',
    replace: 'if (step.wait === undefined || !signal) continue;',
    killers: machine,
  },
  {
    name: 'take a signal while the saga rolls back',
    find: "const waits = status === 'running' && awaitsSignal(step) && !step.pruned;",
    replace: 'const waits = awaitsSignal(step) && !step.pruned;',
    killers: machine,
  },
  {
    name: 'let a wait be over before its time',
    find: "if (state.status !== 'running' || !awaitsSignal(step) || !isWaitOver(step, now)) return state;",
    replace: "if (state.status !== 'running' || !awaitsSignal(step) || now < 0) return state;",
    killers: machine,
  },
  {
    name: 'let time pass for what has come',
    find: "if (state.status !== 'running' || !awaitsSignal(step) || !isWaitOver(step, now)) return state;",
    replace: "if (state.status !== 'running' || !isWaitOver(step, now)) return state;",
    killers: machine,
  },
  {
    name: 'take a signal that came after its wait',
    find: 'Math.min(now, signal.at)',
    replace: 'Math.min(now, signal.at, 0)',
    killers: engine,
  },
  {
    name: 'wait for ever, whatever the timeout',
    find: 'plan.rest(wait.until);',
    replace: 'plan.rest(undefined);',
    killers: machine,
  },
  {
    name: 'take a saga that only waits for stuck',
    find: 'return this.rests || this.wakeAt !== undefined;',
    replace: 'return this.wakeAt !== undefined;',
    killers: machine,
  },
  {
    name: 'run a step that waits before anything has come',
    find: 'else if (node.wait !== undefined && step.wait?.takenSignal === undefined) planWait(plan, node, step);',
    replace: 'else if (node.wait !== undefined && step.wait === undefined) planWait(plan, node, step);',
    killers: machine,
  },
  {
    name: 'wait on in a branch that has lost',
    find: "const status = 'skipped';\n  return withStep(next, name, { status, retryAt: undefined, wait: undefined, slot: undefined, pruned: true });",
    replace: 'return withStep(next, name, { pruned: true });',
    killers: machine,
  },
  {
    name: 'try a refused step again with what it refused',
    find: 'const WAIT_IS_OVER = { retryAt: undefined, wait: undefined };',
    replace: 'const WAIT_IS_OVER = { retryAt: undefined };',
    killers: machine,
  },
  {
    name: 'delay a wait again that is tried again',
    find: "return attempts === 0 ? 'waiting' : 'pending';",
    replace: "return attempts < 0 ? 'waiting' : 'pending';",
    killers: machine,
  },
  {
    name: 'wait for another signal when an operator retries the method',
    find: 'return wait?.takenSignal === undefined ? undefined : wait;',
    replace: 'return wait?.takenSignal === undefined ? wait : undefined;',
    killers: machine,
  },
  {
    name: 'take over without knowing what had come',
    find: 'this.signals?.give(this.record);',
    replace: '',
    killers: engine,
  },
  {
    name: 'receive a refusal before the steps of a lost worker',
    find: 'const signals = this.kept.filter(({ name, payload }) => refusalIn(name, payload) === undefined);',
    replace: 'const signals = this.kept;',
    killers: engine,
  },
  {
    name: 'let the time of a wait pass before it is asked what came while the saga rolled back',
    find: 'for (let signal = signalFor?.(state); signal; signal = signalFor?.(state)) {',
    replace:
      'for (let signal = events.length > 0 ? undefined : signalFor?.(state); signal; signal = signalFor?.(state)) {',
    killers: engine,
  },
  {
    name: 'let a wait be over without asking whether its signal has come',
    find: 'if (until <= time && until > this.asOf && awaits) time = until - 1;',
    replace: 'if (until < 0 && until > this.asOf && awaits) time = until - 1;',
    killers: engine,
  },
  {
    name: 'let time pass before an operator’s retry has received pending signals',
    find: 'follow(graph, evolved, now, pendingSignals(graph, saga, now))',
    replace: 'follow(graph, evolved, now)',
    killers: engine,
  },
  {
    name: 'accept a rejection after an approval',
    find: 'if (wait?.takenSignal !== undefined)',
    replace: 'if (wait?.takenSignal === 0)',
    killers: engine,
  },
  {
    name: 'do not look for what came while the saga is held',
    find: 'if (await this.signals?.look()) this.inbox.put({ wake: true });',
    replace: '',
    killers: engine,
  },
  {
    name: 'publish what an attempt said that failed',
    find: 'if (attempt && ENDED.has(event.type) && this.state !== before) this.checkpoints.keep(attempt.step, attempt.messages);',
    replace: 'if (attempt) this.checkpoints.keep(attempt.step, attempt.messages);',
    killers: engine,
  },
  {
    name: 'publish the same with each checkpoint',
    find: 'if (sent.length > 0) this.kept = this.kept.filter((one) => !sent.includes(one));',
    replace: 'void sent;',
    killers: engine,
  },
  {
    name: 'publish what a step said whose result cannot be stored',
    find: 'this.kept = this.kept.filter(({ step }) => !steps.includes(step));',
    replace: 'void steps;',
    killers: engine,
  },
  {
    name: 'publish what the method said before it was called again',
    find: `    this.messages = NOTHING;
    this.isOpen = true;`,
    replace: '    this.isOpen = true;',
    killers: engine,
  },
  {
    name: 'keep a signal twice that was sent again (in memory)',
    find: "if (row.signals.some((kept) => kept.messageId === messageId)) return { outcome: 'known', saga: told };",
    replace: '',
    killers: memory,
  },
  {
    name: 'do not wake a saga that waits for a signal (in memory)',
    find: `    row.saga.dueAt = now;
    wakeup.announceDue();
  } else if`,
    replace: `    wakeup.announceDue();
  } else if`,
    killers: memory,
  },
  {
    name: 'forget that a signal came while the saga was held (in memory)',
    find: `    row.woken = true;
    wakeup.announce({ type: 'look', id: row.saga.id });`,
    replace: `    wakeup.announce({ type: 'look', id: row.saga.id });`,
    killers: memory,
  },
  {
    name: 'keep a signal twice that was sent again',
    find: 'WHERE g.saga_id = given.id AND g.message_id = given.message_id',
    replace: 'WHERE g.saga_id = given.id AND g.message_id = given.message_id AND false',
    killers: postgres,
  },
  {
    name: 'do not wake a saga that waits for a signal',
    find: 'due_at = CASE WHEN sent_to.rests AND sent_to.awaits THEN now() ELSE i.due_at END',
    replace: 'due_at = i.due_at',
    killers: postgres,
  },
  {
    name: 'forget that a signal came while the saga was held',
    find: 'woken = i.woken OR sent_to.locked_by IS NOT NULL',
    replace: 'woken = i.woken',
    killers: postgres,
  },
  {
    name: 'keep a signal for a saga that has ended',
    find: 'sent_to.status IN :ENDED_STATUSES',
    replace: "sent_to.status IN ('compensated', 'aborted')",
    killers: postgres,
  },
  {
    name: 'tell a saga again what it has taken',
    find: ":g.number > coalesce((i.progress -> 'lastTakenSignals' ->> :g.name)::int, 0)",
    replace: ':g.number > 0',
    killers: postgres,
  },
  {
    name: 'publish what a checkpoint said that was fenced off',
    find: 'WHERE w.saga_id = ANY(saved)',
    replace: 'WHERE m.saga_id IS NOT NULL',
    killers: postgres,
  },
  {
    name: 'publish again what was stored before',
    find: 'IF cardinality(saved) = cardinality(w_id) THEN',
    replace: 'IF true THEN',
    killers: postgres,
  },
  {
    name: 'compute a delay again after it has passed',
    find: 'if (node.delayOf && isNew)',
    replace: 'if (node.delayOf)',
    killers: [specs('testing/times')],
  },
  {
    name: 'begin a step whose delay is computed at once',
    find: "else if (node.delayOf !== undefined && step.status === 'pending' && step.attempts === 0)",
    replace: 'else if (node.delayOf !== undefined && step.attempts > 0)',
    killers: [specs('testing/times'), specs('graph.properties')],
  },
  {
    name: 'forget the computed end of a wait',
    find: 'const until = given ?? (timeout === undefined ? undefined : now + timeout);',
    replace: 'const until = timeout === undefined ? given && undefined : now + timeout;',
    killers: [specs('testing/times'), specs('graph.properties')],
  },
  {
    name: 'forget the signal of an attempt that was lost before a rollback that did not happen',
    find: "{ status: 'failed', retryAt: undefined, wait: whatCame(step), slot: undefined }",
    replace: "{ status: 'failed', retryAt: undefined, wait: undefined, slot: undefined }",
    killers: [specs('machine/waits')],
  },
  {
    name: 'check a signal by the newest graph of a version, whichever the instance keeps',
    find: 'AND g.revision = coalesce(sent_to.graph_revision,',
    replace: 'AND g.revision = coalesce(NULL,',
    killers: [testsOf('postgres-saga-store', 'refused by the graph that the saga goes by')],
  },
  {
    name: 'refuse a signal that the saga waits for right now, by the graph of another process',
    find: 'IF NOT ($7 IS NULL OR sent_to.awaits OR coalesce(',
    replace: 'IF NOT ($7 IS NULL OR coalesce(',
    killers: [testsOf('postgres-saga-store', 'if the saga waits for it right now')],
  },
  {
    name: 'drop a reply that only another version of the saga waits for',
    find: 'error instanceof UnawaitedSignalError && !error.elsewhere',
    replace: 'error instanceof UnawaitedSignalError',
    killers: [specs('refused-replies')],
  },
];
