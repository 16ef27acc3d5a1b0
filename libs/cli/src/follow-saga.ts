import { setTimeout as sleep } from 'node:timers/promises';
import type { SagaSnapshot, SagaTarget } from 'nestjs-durable-saga';
import { SagaTimeoutError, describeWait, isSettled, timelineOf } from 'nestjs-durable-saga/internal';
import { fitted } from './text/columns.js';
import type { OperatorSession } from './operator-session.js';
import { describeProgress } from './text/format.js';
import { eventText, headLines, type PageOptions, stepLines, withoutPayloads } from './text/saga-page.js';
import { paintOn } from './text/style.js';
import type { Terminal } from './terminal.js';

export interface FollowOptions {
  /** Milliseconds after which the saga is drawn again, since time passes; default 500. */
  readonly interval?: number;
  /** Milliseconds. Default: as long as it takes. */
  readonly timeout?: number;
  readonly json?: boolean;
}

const INTERVAL = 500;

/**
 * Shows what a saga does until it is settled: redrawn in a terminal, a line for each thing that happens elsewhere, or a
 * line of JSON for each change.
 * @throws SagaTimeoutError past `timeout`; the saga goes on
 */
export async function followSaga(
  { sagas, running }: Pick<OperatorSession, 'sagas' | 'running'>,
  target: SagaTarget,
  terminal: Terminal,
  { interval = INTERVAL, timeout = Infinity, json = false }: FollowOptions,
): Promise<SagaSnapshot> {
  const until = performance.now() + timeout;
  const show = json ? jsonLines(terminal) : timelineOn(terminal);
  const updates = sagas.watch(target)[Symbol.asyncIterator]();
  try {
    let saga: SagaSnapshot | undefined;
    for (let update = updates.next(); ;) {
      const news = await within(update, Math.min(interval, Math.max(0, until - performance.now())));
      if (news) update = updates.next();
      if (news && !news.done) saga = news.value.data;
      if (saga) show(saga, { paint: paintOn(terminal), now: running.engine.now() });
      if (saga && isSettled(saga.status)) return saga;
      if (saga && until <= performance.now())
        throw new SagaTimeoutError(`Saga ${saga.id} did not finish within ${timeout} ms. It continues.`);
    }
  } finally {
    void updates.return();
  }
}

/** Undefined: nothing has come so far. */
async function within<T>(coming: Promise<T>, wait: number): Promise<T | undefined> {
  const over = new AbortController();
  const patience = sleep(wait, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    return await Promise.race([coming, patience]);
  } finally {
    over.abort();
  }
}

/** Shows a saga as it is now. */
export type Show = (saga: SagaSnapshot, options: PageOptions) => void;

/** Redraws the saga in a terminal, and prints a line for each thing that happens elsewhere. */
export function timelineOn(terminal: Terminal): Show {
  return terminal.interactive ? redrawing(terminal) : lines(terminal);
}

function jsonLines(terminal: Terminal): Show {
  let before: string | undefined;
  return (saga) => {
    const line = JSON.stringify(withoutPayloads(saga));
    if (line !== before) terminal.out(line);
    before = line;
  };
}

/** What has been said is not said again. */
function lines(terminal: Terminal): Show {
  const said = new Set<string>();
  const say = (line: string): void => {
    if (!said.has(line)) terminal.out(line);
    said.add(line);
  };
  let stood: string | undefined;
  return (saga, options) => {
    if (stood === undefined) say(headLines(saga, options)[0]!);
    for (const entry of timelineOf(saga)) say(`${entry.at.toISOString()} ${eventText(entry)}`);
    for (const { name, progress } of saga.steps)
      if (progress) say(`  ${name}: ${describeProgress(progress)}`);
    const { status, step, waitingFor } = saga;
    const stands = JSON.stringify([status, step, waitingFor]);
    if (stands !== stood) {
      const where = step === '' ? status : `${status}, at ${step}`;
      terminal.out(
        `  ${where}${waitingFor ? `: waits for ${describeWait(waitingFor, new Date(options.now))}` : ''}`,
      );
    }
    stood = stands;
  };
}

function redrawing(terminal: Terminal): Show {
  let drawn = 0;
  return (saga, options) => {
    const page = [...headLines(saga, options), '', ...stepLines(saga, options)]
      .slice(0, Math.max(1, (terminal.rows ?? Infinity) - 1))
      .map((line) => fitted(line, terminal.columns));
    if (drawn > 0) terminal.write(`\x1b[${drawn}A\x1b[0J`);
    terminal.out(page.join('\n'));
    drawn = page.length;
  };
}
