import type { Type } from '@nestjs/common';
import { type Duration, toMilliseconds } from '../definition/options/duration.js';
import type { OutboxMessage } from '../definition/types/outbox-message.js';
import type { InputOf } from '../definition/types/contexts.js';
import { decodePayload } from '../engine/payload/payload.js';
import type { StoredSaga } from '../engine/ports/stored-saga.js';
import type { SagaOutcome, SagaSnapshotOf } from '../nest/views/saga-snapshot.js';
import type { WaitingFor } from '../nest/views/waiting-for.js';
import { toOutcome } from '../nest/views/to-snapshot.js';
import type { SagaOperations } from '../nest/saga.operations.js';
import type { SagaService } from '../nest/saga.service.js';
import type { StartOptions } from '../nest/calls/start-options.js';
import { approvalsOf } from '../engine/operate/approvals.js';
import { isQuiet, type OpenQuestion, openQuestions } from '../nest/views/open-questions.js';
import type { TestCall } from './current-call.js';
import { checkOf, type TestWorld } from './test-world.js';
import { isInProgress } from '../machine/saga-state.js';

/** The response of the test's script whenever the saga waits. */
export type SignalAnswer =
  | { readonly kind: 'signal'; readonly name: string; readonly payload: unknown }
  | { readonly kind: 'approve' | 'reject'; readonly name: string; readonly by: string };

interface Beginning<S> {
  readonly input: InputOf<S>;
  readonly options: StartOptions | undefined;
  readonly answers: readonly SignalAnswer[];
}

/** One run of a saga in its own in-memory store: its outcome and its calls. */
export class SagaTestRun<S> {
  /** The outcome when the run last became idle. */
  outcome!: SagaOutcome<S>;
  /** The snapshot of `SagaService.get` when the run last became idle. */
  snapshot!: SagaSnapshotOf<S>;

  private constructor(
    /** The saga's id. */
    readonly id: string,
    private readonly world: TestWorld,
    private readonly answers: readonly SignalAnswer[],
  ) {}

  /** @internal */
  static async begin<S>(
    world: TestWorld,
    saga: Type<S>,
    { input, options, answers }: Beginning<S>,
  ): Promise<SagaTestRun<S>> {
    await world.settle();
    const { name } = world.registry.latest(saga);
    const { id } = await world.settled(checkOf(name), () => world.sagas.start(saga, input, options));
    return new SagaTestRun<S>(id, world, answers);
  }

  /** A SagaService on this run's store. Afterwards let time pass with `proceed()`, `advance()` or `finish()`. */
  get sagas(): SagaService {
    return this.world.sagas;
  }

  /** SagaOperations on this run's store. Afterwards let time pass, as after calls of `sagas`. */
  get operations(): SagaOperations {
    return this.world.operations;
  }

  /** All calls of the saga's methods, one per attempt, in order. */
  get calls(): readonly TestCall[] {
    return this.world.calls.calls;
  }

  /** The called methods, in order. Consecutive attempts are one entry. */
  get trace(): readonly string[] {
    const keyOf = ({ id, method, index }: TestCall) => `${id} ${method} ${index}`;
    return this.calls
      .filter((call, n, all) => n === 0 || keyOf(all[n - 1]!) !== keyOf(call))
      .map(({ method, index }) => (index === undefined ? method : `${method}[${index}]`));
  }

  /** The published messages, in order. */
  get published(): readonly OutboxMessage[] {
    return this.world.store.outbox.map(({ topic, key, type, payload, headers }) => ({
      ...{ topic, key, type, headers },
      payload: decodePayload(payload),
    }));
  }

  /** The milliseconds of virtual time since the start. */
  get took(): number {
    return this.world.time.now - this.snapshot.createdAt.getTime();
  }

  /** The number of stored checkpoints, including those that a crash prevented. */
  get checkpoints(): number {
    return this.world.count.checkpoints;
  }

  /** The reasons for which cancellations by `SagaTest.cancelling()` were rejected, in order. Empty if none was. */
  get refusedCancellations(): readonly string[] {
    return this.world.calls.refusedCancellations;
  }

  /** The number of scripted crashes that did not happen, because the saga has fewer checkpoints. */
  get missedCrashes(): number {
    return this.world.missedCrashes.length;
  }

  /** The wait of the saga that the script does not answer. */
  get waitingFor(): WaitingFor | undefined {
    return this.snapshot.waitingFor;
  }

  /** Lets time pass until the saga has ended, needs attention, or waits for a signal, an approval or a paused step. */
  async proceed(): Promise<void> {
    await this.world.proceedUntil(() => this.isAtRest(true));
    await this.look();
  }

  /** Lets time pass until the saga has ended, needs attention, or is idle for ever. */
  async finish(): Promise<void> {
    await this.world.proceedUntil(() => this.isAtRest(false));
    await this.look();
  }

  /** Lets a duration of virtual time pass. */
  async advance(duration: Duration): Promise<void> {
    await this.world.proceedTo(this.world.time.now + toMilliseconds(duration, 'duration'));
    await this.look();
  }

  /** Sends a signal, and proceeds until the saga is idle. */
  async signal(name: string, payload?: unknown, options?: { messageId?: string }): Promise<void> {
    await this.world.sagas.signal(this.id, name, payload, options);
    await this.proceed();
  }

  /** Approves a step, and proceeds until the saga is idle. */
  async approve(step: string, by = 'the test'): Promise<void> {
    await this.world.sagas.approve(this.id, step, { by });
    await this.proceed();
  }

  /** Rejects a step, and proceeds until the saga is idle. */
  async reject(step: string, by = 'the test'): Promise<void> {
    await this.world.sagas.reject(this.id, step, { by });
    await this.proceed();
  }

  /** Cancels the saga, and proceeds until it has ended. */
  async cancel(reason?: string): Promise<void> {
    await this.world.sagas.cancel(this.id, { reason });
    await this.finish();
  }

  /** Undoes the completed saga, and proceeds until it has ended. */
  async undo(): Promise<void> {
    await this.world.operations.undo(this.id);
    await this.finish();
  }

  private async isAtRest(whereItWaits: boolean): Promise<boolean> {
    if (this.world.misuse) return true;
    const saga = await this.answered();
    if (!isInProgress(saga.state.status)) return true;
    const isMoving = saga.lockedBy !== undefined || saga.dueAt! <= this.world.time.now;
    if (whereItWaits && !isMoving && (openQuestions(saga).length > 0 || (await this.isPaused()))) return true;
    return isQuiet(saga, this.world);
  }

  /** An operator of the test has paused the step that is next. */
  private async isPaused(): Promise<boolean> {
    const { pauses } = await this.world.store.pauses.all(0);
    if (pauses.length === 0) return false;
    return (await this.world.sagas.get(this.id)).waitingFor?.kind === 'paused-step';
  }

  /** The saga after the script has answered everything that it waits for. */
  private async answered(): Promise<StoredSaga> {
    for (;;) {
      const saga = (await this.world.store.load({ id: this.id }))!;
      const answer = openQuestions(saga)
        .map((question) => this.answerTo(question, saga))
        .find((one) => one !== undefined);
      if (!answer) return saga;
      await this.give(answer, saga);
      await this.world.settle();
    }
  }

  /** If several people have to approve a step, each answer of the script is one. The last one stands for all further ones. */
  private answerTo(question: OpenQuestion, saga: StoredSaga): SignalAnswer | undefined {
    const fitting = this.answers.filter((one) => isAnswerTo(one, question));
    const made = question.kind === 'approval' ? approvalsOf(saga, question.name).length : 0;
    const answer = fitting[made] ?? fitting.at(-1);
    if (answer?.kind !== 'approve' || made < fitting.length) return answer;
    return { ...answer, by: `${answer.by} ${made + 1}` };
  }

  private async give(answer: SignalAnswer, { input }: StoredSaga): Promise<void> {
    const { sagas } = this.world;
    if (answer.kind !== 'signal') return sagas[answer.kind](this.id, answer.name, { by: answer.by });
    const { name, payload } = answer;
    const made = async () => (isFunction(payload) ? payload(decodePayload(input)) : payload);
    const what = `The function that makes the payload of signal '${name}'`;
    await sagas.signal(this.id, name, await this.world.settled(what, made));
  }

  /** @throws SagaConfigurationError when the test lacks what a method of the saga has used */
  private async look(): Promise<void> {
    if (this.world.misuse) throw this.world.misuse;
    this.snapshot = await this.world.sagas.get<S>(this.id);
    this.outcome = toOutcome<S>((await this.world.store.load({ id: this.id }))!);
  }
}

function isAnswerTo(answer: SignalAnswer, { kind, name }: OpenQuestion): boolean {
  return answer.name === name && (answer.kind === 'signal') === (kind === 'signal');
}

function isFunction(payload: unknown): payload is (input: unknown) => unknown {
  return typeof payload === 'function';
}
