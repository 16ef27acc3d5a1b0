import type { Type } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SagaOutcome, SagaSnapshot } from 'nestjs-durable-saga';
import {
  type Invoker,
  SagaMetadata,
  SagaStateError,
  StepRejectedError,
  describeWait,
  isSettled,
  methodsOf,
  nearestName,
} from 'nestjs-durable-saga/internal';
import { CannotTell, UsageError } from '../command.js';
import { type Show, timelineOn } from '../follow-saga.js';
import { operatorOf } from '../operator.js';
import type { Terminal } from '../terminal.js';
import { paintOn } from '../text/style.js';
import { Answers, type GivenAnswers } from './answers.js';
import { inMemory, type MemorySession, type PublishedMessage } from './memory-session.js';

/** Milliseconds between two looks at the saga. */
const INTERVAL = 50;

export interface LocalRun {
  /** The first is run. */
  readonly types: readonly Type[];
  readonly input: unknown;
  readonly failures: readonly string[];
  readonly answers: GivenAnswers;
  /** Milliseconds. */
  readonly timeout: number;
  /** Whether to show nothing but the end. */
  readonly isQuiet: boolean;
}

export interface LocalEnd {
  readonly saga: SagaSnapshot;
  readonly outcome: SagaOutcome;
  readonly published: readonly PublishedMessage[];
}

/**
 * Runs a saga in the memory of this process until it ends or needs attention.
 * It is cancelled past `timeout`, and when it waits for something that was not given.
 * @throws CannotTell if it cannot be cancelled then
 */
export async function runLocally(run: LocalRun, terminal: Terminal): Promise<LocalEnd> {
  const around = readFailures(run.failures, run.types);
  return inMemory(run.types, around, async (session) => {
    const { id } = await session.sagas.start(run.types[0]!, run.input);
    const stopListening = terminal.onInterrupt?.(() => void interrupted(session, id, terminal));
    try {
      const saga = await followed(session, id, run, terminal);
      return { saga, outcome: await session.outcomeOf(id), published: session.published() };
    } finally {
      stopListening?.();
    }
  });
}

async function followed(
  session: MemorySession,
  id: string,
  { answers: given, timeout, isQuiet }: LocalRun,
  terminal: Terminal,
): Promise<SagaSnapshot> {
  const { sagas, running } = session;
  const answers = new Answers(session, given, terminal, () => interrupted(session, id, terminal));
  let until = performance.now() + timeout;
  const showing = (): Show => (isQuiet ? () => undefined : timelineOn(terminal));
  let show = showing();
  let published = 0;
  for (;;) {
    const saga = await sagas.get(id);
    show(saga, { paint: paintOn(terminal), now: running.engine.now() });
    const messages = session.published().slice(published);
    published += messages.length;
    if (!isQuiet) for (const message of messages) terminal.out(textOf(message));
    // Nothing can be drawn anew above these lines.
    if (messages.length > 0 && terminal.interactive) show = showing();
    if (isSettled(saga.status)) return saga;
    // The answers left lines above which nothing can be drawn anew.
    if (await answers.answer(id)) show = showing();
    else if (await session.isQuiet(id)) await giveUp(session, id, waitOf(await sagas.get(id)), terminal);
    if (performance.now() > until) {
      until = Infinity;
      await giveUp(session, id, `it did not end within ${timeout} ms`, terminal);
    }
    await sleep(INTERVAL);
  }
}

function textOf({ topic, type, key, payload }: PublishedMessage): string {
  const what = type === topic ? '' : ` ${type}`;
  return `published${what} to ${topic}, key ${key}: ${JSON.stringify(payload)}`;
}

function waitOf({ waitingFor, status }: SagaSnapshot): string {
  const what = waitingFor ? describeWait(waitingFor) : `something else, in status ${status}`;
  return (
    `it waits for ${what}, and there is no terminal to answer in. Give --approve <step>, --reject <step> or ` +
    '--signal <name>=<json>, or set a timeout in the file'
  );
}

/**
 * Compensates what was done: nothing of the saga is left once the process ends.
 * @throws CannotTell if the saga only goes forward
 */
async function giveUp({ sagas }: MemorySession, id: string, why: string, terminal: Terminal): Promise<void> {
  try {
    await sagas.cancel(id, { by: operatorOf(terminal), reason: why });
  } catch (error) {
    if (!(error instanceof SagaStateError)) throw error;
    throw new CannotTell(
      `The saga cannot go on: ${why}. Nothing was compensated: ${error.message}`,
      'SAGA_WAITING',
    );
  }
  terminal.error(`The saga is cancelled: ${why}`);
}

async function interrupted({ sagas }: MemorySession, id: string, terminal: Terminal): Promise<void> {
  try {
    await sagas.cancel(id, { by: operatorOf(terminal), reason: 'interrupted' });
    terminal.error('Interrupted: the saga is cancelled. Interrupt again to end at once');
  } catch (error) {
    if (!(error instanceof SagaStateError)) throw error;
    terminal.error(`Interrupted, but the saga goes on: ${error.message} Interrupt again to end at once`);
  }
}

/**
 * Reads `--fail <step>=<error>`: the method is not called, and fails for good. `<step>.compensate` is the compensation.
 * @throws UsageError if there is no such step
 */
export function readFailures(
  written: readonly string[],
  types: readonly Type[],
): (invoke: Invoker) => Invoker {
  const known = types.flatMap((type) => [
    ...SagaMetadata.stepsOf(type).map(({ method }) => method),
    ...methodsOf(type).plain,
  ]);
  const failures = new Map(written.map((one) => readFailure(one, known)));
  if (failures.size === 0) return (invoke) => invoke;
  return (invoke) => (method, context, payload) => {
    const error = failures.get(method);
    if (error !== undefined) throw new StepRejectedError(error);
    return invoke(method, context, payload);
  };
}

function readFailure(written: string, known: readonly string[]): [string, string] {
  const at = written.indexOf('=');
  const step = at < 0 ? written : written.slice(0, at);
  if (!known.includes(step)) {
    const nearest = nearestName(step, known);
    const hint = nearest === undefined ? `The steps: ${known.join(', ')}` : `Did you mean '${nearest}'?`;
    throw new UsageError(`--fail '${step}' is not a step. ${hint}`);
  }
  return [step, at < 0 ? `${step} failed, because of --fail` : written.slice(at + 1)];
}
