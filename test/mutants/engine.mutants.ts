import { type Mutant, simulation, specs } from './mutant.js';

const killers = [simulation(20), specs('saga-run', 'saga-engine', 'engine/leases'), simulation(400)];

/**
 * One mutant is missing because no test can detect it: a worker that claims a saga again and does not fence
 * its own earlier run. That run cannot store anything under its epoch. It starts nothing without a renewal,
 * which reports the lost lease.
 */
export const ENGINE_MUTANTS: readonly Mutant[] = [
  {
    name: 'run a saga that did not get its lock',
    find: 'saga.deadlock ? [deadlocked(saga, saga.deadlock)] : []',
    replace: '[]',
    killers: [specs('family-locks')],
  },
  {
    name: 'begin a step before what it follows from is stored',
    find: `'step-started',
  'compensation-started',`,
    replace: `'step-started',
  'step-completed',
  'compensation-started',`,
    killers,
  },
  {
    name: 'begin a step though the lease may have run out',
    find: 'return !this.isFenced && clock.monotonic() - this.leasedAt <= lease * SAFE_SHARE;',
    replace: 'return !this.isFenced && clock.monotonic() - this.leasedAt <= lease * 1_000;',
    killers,
  },
  {
    name: 'go on after a renewal said that the lease is lost',
    find: 'for (const id of lost) byId.get(id)?.fence();',
    replace: '',
    killers,
  },
  {
    name: 'count a lease from when its renewal was answered',
    find: 'for (const run of runs) run.leasedAt = sentAt + longer;',
    replace:
      'for (const run of runs) run.leasedAt = Math.max(sentAt + longer, this.ports.clock.monotonic());',
    killers,
  },
  {
    name: 'count a lease from when its claim was answered',
    find: 'for (const saga of sagas) worker.take(saga, askedAt);',
    replace: 'for (const saga of sagas) worker.take(saga, Math.max(askedAt, ports.clock.monotonic()));',
    killers,
  },
  {
    name: 'never renew a lease',
    find: 'if (old.length > 0) await this.renew(old);',
    replace: '',
    killers: [simulation(20), specs('sagas/leases')],
  },
  {
    name: 'store what does not know of a cancellation',
    find: 'cancelSeen = false;',
    replace: 'cancelSeen = true;',
    killers,
  },
  {
    name: 'take a checkpoint that was fenced off for stored',
    find: `result = await this.ports.checkpoint(checkpoint);`,
    replace: `result = await this.ports.checkpoint(checkpoint).then((r) => (r === 'fenced' ? 'saved' : r));`,
    killers,
  },
  {
    name: 'give each checkpoint of a saga the same number',
    find: 'this.number += 1;',
    replace: 'this.number = 1;',
    killers,
  },
  {
    name: 'release a saga while attempts are running',
    find: 'if (this.attempts.size > 0 || !this.inbox.isEmpty) return false;',
    replace: 'if (!this.inbox.isEmpty) return false;',
    killers,
  },
  {
    name: 'keep a place for a near retry that others wait for',
    find: 'return isNearRetry(next, this.state, this.ports.now()) && this.ports.hasRoom(this.saga.name);',
    replace: 'return isNearRetry(next, this.state, this.ports.now());',
    killers: [specs('near-retry')],
  },
  {
    name: 'begin an at-most-once step before its start is stored',
    find: `isAtMostOnce(action) || this.isLimited(action)`,
    replace: `this.isLimited(action)`,
    killers,
  },
  {
    name: 'begin an at-most-once step however long its start took to store',
    find: `if (!this.isLeaseSafe) for (const { key } of recorded)`,
    replace: `if (this.isFenced) for (const { key } of recorded)`,
    killers,
  },
  {
    name: 'commit a transaction after its saga was given back',
    find: 'if (!this.attempts.has(attempt)) return void release();',
    replace: '',
    killers,
  },
  {
    name: 'begin a transaction though the lease may have run out',
    find: 'if (!host.isLeaseSafe || attempt.abortedBy) throw new NotNow();',
    replace: 'if (attempt.abortedBy) throw new NotNow();',
    killers,
  },
  {
    name: 'call a transactional step that was cancelled while its transaction began',
    find: 'if (!host.isLeaseSafe || attempt.abortedBy) throw new NotNow();',
    replace: 'if (!host.isLeaseSafe) throw new NotNow();',
    killers: [specs('run/saga-run')],
  },
  {
    name: 'make a transaction again whose commit was not acknowledged',
    find: 'if (staged && (await wasCommitted(staged, host, ports))) return void host.adopt(staged);',
    replace: '',
    killers,
  },
  {
    name: 'come to rest with a transactional step in progress that no attempt is at',
    find: '      if (!host.isLeaseSafe) throw new NotNow();\n      const result',
    replace: '      if (!host.isLeaseSafe) return undefined;\n      const result',
    killers: [specs('run/saga-run')],
  },
  {
    name: 'forget what happened while a transaction was being committed',
    find: 'for (const event of meanwhile) this.apply(event);',
    replace: 'void meanwhile;',
    killers,
  },
  {
    name: 'let two checkpoints of a saga overlap',
    find: 'if (this.isTaken) return new Promise((resolve) => (this.waiting ??= []).push(resolve));',
    replace: '',
    killers: [simulation(20), specs('mutex')],
  },
  {
    name: 'run a saga that the answer to a start says is leased to another',
    find: 'const run = result.created && result.leased ? new StartedSaga',
    replace: 'const run = result.created ? new StartedSaga',
    killers,
  },
  {
    name: 'start a saga here that only a claim may count',
    find: 'if (this.limits.has(saga.name)) return false;',
    replace: '',
    killers,
  },
  {
    name: 'take on more sagas than there is room for',
    find: 'return this.size - this.holding - this.reserved.size;',
    replace: 'return this.size - this.reserved.size;',
    killers,
  },
  {
    name: 'take over from a lost worker as if nothing had begun',
    find: 'if (saga.takeovers > 0 || wasInterrupted(saga, graph)) {',
    replace: 'if (wasInterrupted(saga, graph)) {',
    killers,
  },
  {
    name: 'continue a saga that was released with running steps as if they had not started',
    find: 'if (saga.takeovers > 0 || wasInterrupted(saga, graph)) {',
    replace: 'if (saga.takeovers > 0 && wasInterrupted(saga, graph)) {',
    killers,
  },
  {
    name: 'trust hints, and never poll',
    find: 'if (!tick) void this.poll();',
    replace: 'if (tick === undefined) void this.poll();',
    killers: [specs('lost-hints')],
  },
  {
    name: 'trust announcements, and never ask for those that are waited for',
    find: 'if (waiters.waitsForOthers) waiters.poll();',
    replace: '',
    killers: [specs('lost-hints')],
  },
  {
    name: 'resolve no waiter of this process when a saga is settled',
    find: 'this.end(saga.id, ({ resolve }) => resolve(saga));',
    replace: 'void saga;',
    killers: [simulation(20), specs('outcome-waiters'), simulation(400)],
  },
  {
    name: 'begin a sub-saga that is not stored with its step',
    find: 'made.starts = this.children?.startedBy(state, saved);',
    replace: '',
    killers,
  },
  {
    name: 'do not look at what a saga waits for when it is claimed',
    find: 'if (this.children) for (const event of await this.children.endedFirst(this.state)) this.apply(event);',
    replace: '',
    killers,
  },
  {
    name: 'use the same idempotency key in every round',
    find: `const again = whole.round > 1 ?`,
    replace: `const again = whole.round > 1_000 ?`,
    killers,
  },
  {
    name: 'use another idempotency key for each attempt',
    find: '`${saga.id}:${key}${again}${',
    replace: '`${saga.id}:${key}${again || (step.attempts > 1 ? `~${step.attempts}` : ``)}${',
    killers,
  },
  {
    name: 'compensate without the result',
    find: 'this.result = decodePayload(step.result);',
    replace: 'this.result = undefined;',
    killers,
  },
  {
    name: 'take a step that timed out for failed',
    find: `isCoded(thrown, 'SAGA_UNKNOWN_OUTCOME') || (attempt.abortedBy !== undefined && !rejected);`,
    replace: `!timedOut && (isCoded(thrown, 'SAGA_UNKNOWN_OUTCOME') || (attempt.abortedBy !== undefined && !rejected));`,
    killers,
  },
  {
    name: 'count a step that stopped after its abort signal as failed',
    find: ' || (attempt.abortedBy !== undefined && !rejected);',
    replace: ';',
    killers: [simulation(20), specs('lost-attempts', 'shutdown')],
  },
  {
    name: 'wait for a step however long it takes',
    find: 'const stop = boundAttempt(attempt, this.options.clock, () => reject(TIMED_OUT));',
    replace: 'const stop = boundAttempt(attempt, this.options.clock, () => typeof TIMED_OUT);',
    killers: [simulation(20), specs('failed-attempts')],
  },
  {
    name: 'begin further steps while the process shuts down',
    find: `this.ports.clock.cancel(this.adapting);
    for (const run of this.runs.values()) run.drain();`,
    replace: 'this.ports.clock.cancel(this.adapting);',
    killers: [simulation(20), specs('shutdown')],
  },
  {
    name: 'keep the leases of what does not settle while the process shuts down',
    find: 'for (const run of this.runs.values()) void run.interrupt();',
    replace: '',
    killers: [simulation(20), specs('shutdown')],
  },
  {
    name: 'use a time that a rate limit gave long after it has passed',
    find: 'return permit === undefined || now > permit + permitSlack(node.rateLimit.per);',
    replace: 'return permit === undefined;',
    killers: [specs('permits')],
  },
  {
    name: 'let the slowest answer set the clock',
    find: 'if (this.offset === undefined || this.offset < least || this.offset > most) this.offset = least;',
    replace: 'this.offset = most - most + least;',
    killers: [specs('store-clock')],
  },
  {
    name: 'believe an answer that a clock gave before it was set back',
    find: 'if (sentAt < this.lowered) return;',
    replace: 'if (sentAt < this.lowered - 3_600_000) return;',
    killers: [specs('store-clock')],
  },
  {
    name: 'keep the time of a clock that was set back',
    find: 'if (this.offset === undefined || this.offset < least || this.offset > most) this.offset = least;',
    replace:
      'if (this.offset === undefined || this.offset < least || most === Infinity) this.offset = least;',
    killers: [specs('store-clock')],
  },
  {
    name: 'forget one half of a batch that the database refuses',
    find: `await this.flush(batch.slice(0, half), attempt);
      return this.flush(batch.slice(half), attempt);`,
    replace: 'return this.flush(batch.slice(0, half), attempt);',
    killers: [specs('group-writer')],
  },
  {
    name: 'let one bad row fail all of its batch',
    find: 'if (batch.length === 1) return batch[0]!.reject(error);',
    replace: `if (batch.length > 0) return batch.forEach(({ reject }) => reject(error));`,
    killers: [specs('group-writer')],
  },
  {
    name: 'mix up the answers of a batch',
    find: 'resolve(results[n]!)',
    replace: 'resolve(results.at(-1 - n)!)',
    killers: [simulation(20), specs('group-writer'), simulation(400)],
  },
  {
    name: 'reject a statement after a transient error',
    find: 'if (!this.options.isOutage(error)) {',
    replace: 'if (!this.options.isOutage(error) || attempt === 0) {',
    killers: [simulation(20), specs('group-writer'), simulation(400)],
  },
  {
    name: 'do not claim again when the end of a large saga makes room',
    find: 'if (run.checkpoints.bytes > SMALL_SAGA) this.claimer.largeOneEnded();',
    replace: '',
    killers: [specs('large-sagas')],
  },
  {
    name: 'run a saga that another worker took over while it waited for a slot',
    find: 'if (queued.isFenced) this.leaveFenced(queued.saga);',
    replace: 'if (queued.isFenced && this.limits.size > 99) this.leaveFenced(queued.saga);',
    killers: [specs('queued-sagas')],
  },
  {
    name: 'do not renew the leases of sagas that wait for a slot',
    find: 'yield* this.queue.values();',
    replace: '',
    killers: [specs('queued-sagas')],
  },
  {
    name: 'keep the sagas that wait for a slot when the process shuts down',
    find: 'const queued = this.queue.clear();',
    replace: 'const queued: QueuedSaga[] = [];',
    killers: [specs('queued-sagas')],
  },
  {
    name: 'let a saga wait for a slot here although its lease counts for a limit',
    find: 'const ahead = this.limits.size > 0 ? 0 : options.ahead;',
    replace: 'const { ahead } = options;',
    killers: [specs('queued-sagas')],
  },
  {
    name: 'give free slots to the saga that waited first, whatever its priority',
    find: 'const place = this.lines.findIndex((line) => line.priority <= priority);',
    replace: 'const place = this.lines.findIndex((line) => line.priority === priority);',
    killers: [specs('saga-queue')],
  },
  {
    name: 'do not count the bytes of the sagas that a worker holds',
    find: 'if (checkpoints.bytes > SMALL_SAGA) held += checkpoints.bytes;',
    replace: 'held += 0 * checkpoints.bytes;',
    killers: [specs('large-sagas')],
  },
  {
    name: 'keep it quiet that a claim failed, if that may pass',
    find: "log[this.ports.store.isTransient(error) ? 'warn' : 'error'](",
    replace: "log[this.ports.store.isTransient(error) ? 'debug' : 'error'](",
    killers: [specs('claim-trouble')],
  },
  {
    name: 'ask a probe only about the attempt that has just ended',
    find: 'if (!event.unknown && !attempt.isInDoubt) return event;',
    replace: 'if (!event.unknown) return event;',
    killers: [specs('testing/probes')],
  },
];
