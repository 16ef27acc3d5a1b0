import type { SagaSnapshot, StepSnapshot } from 'nestjs-durable-saga';
import type { HistoryEntry, LostAttemptSnapshot, TimelineEntry } from 'nestjs-durable-saga/operators';
import {
  describeWait,
  durationText,
  fromNow,
  mapPayloads,
  oneLine,
  timelineOf,
} from 'nestjs-durable-saga/internal';
import { columns } from './columns.js';
import { lookOf, type Paint, SIGNS } from './style.js';
import { counted, describeProgress, failureText } from './format.js';

export interface PageOptions {
  readonly paint: Paint;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly now: number;
  /** Show what it and its steps were given, and gave: it may be secret. */
  readonly payloads?: boolean;
}

/** A saga as one page of text. */
export function pageOf(saga: SagaSnapshot, history: readonly HistoryEntry[], options: PageOptions): string[] {
  return [
    ...headLines(saga, options),
    '',
    options.paint('bold', 'Steps'),
    ...stepLines(saga, options),
    '',
    options.paint('bold', 'Timeline'),
    ...timelineLines(saga, history, options),
  ];
}

export function headLines(saga: SagaSnapshot, { paint, now, payloads }: PageOptions): string[] {
  const { failure, waitingFor, lockedBy, parent, tags, finishedAt, overdue, slaAt } = saga;
  const label = `${saga.saga}@${saga.version}`;
  const fields: [string, string | false | undefined][] = [
    ['correlation id', saga.correlationId !== saga.id && saga.correlationId],
    ['current step', saga.step],
    ['waits for', waitingFor && describeWait(waitingFor, new Date(now))],
    ['failure', failure && paint('red', failureText(failure))],
    ['run by', lockedBy],
    ['overdue', overdue && paint('red', `since ${slaAt!.toISOString()} (${fromNow(slaAt!, now)})`)],
    ['deadline', !overdue && !finishedAt && slaAt && `${slaAt.toISOString()} (${fromNow(slaAt, now)})`],
    ['started', `${saga.createdAt.toISOString()} (${fromNow(saga.createdAt, now)})`],
    ['ended', finishedAt && `${finishedAt.toISOString()} (after ${took(saga.createdAt, finishedAt)})`],
    ['part of', parent && `saga ${parent.id}, step '${parent.step}'`],
    ['priority', saga.priority > 0 && String(saga.priority)],
    ['round', saga.round > 1 && String(saga.round)],
    ['tags', tagsText(tags)],
    ['input', payloads && payloadText(saga.input)],
    ['started with', payloads && 'startedInput' in saga && payloadText(saga.startedInput)],
  ];
  const shown = fields.flatMap(([name, text]) => (text ? [[`  ${paint('dim', name)}`, text]] : []));
  return [
    `${paint('bold', label)}  ${saga.id}  ${paint(lookOf(saga.status), saga.status)}`,
    ...columns(shown),
  ];
}

/** In the order of the graph, items and what went wrong under their steps. */
export function stepLines({ steps }: SagaSnapshot, options: PageOptions): string[] {
  const rows = steps.flatMap((step) => rowsOf(step, '  ', options));
  const lines = columns(rows.map(({ cells }) => cells));
  return rows.flatMap(({ notes }, place) => [lines[place]!, ...notes]);
}

interface StepRow {
  readonly cells: string[];
  readonly notes: string[];
}

function rowsOf(step: StepSnapshot, indent: string, options: PageOptions): StepRow[] {
  const { paint, now } = options;
  const { name, status, items = [] } = step;
  const sign = paint(lookOf(status), SIGNS[status]);
  const cells = [
    `${indent}${sign} ${name}`,
    paint(lookOf(status), status),
    attemptsText(step),
    tookText(step, now),
  ];
  return [
    { cells, notes: notesOf(step, `${indent}    `, options) },
    ...items.flatMap((item) => rowsOf(item, `${indent}  `, options)),
  ];
}

function notesOf(step: StepSnapshot, indent: string, { paint, now, payloads }: PageOptions): string[] {
  const {
    errors,
    lost = [],
    child,
    continued,
    retryAt,
    result,
    unknown,
    round,
    progress,
    heartbeatAt,
  } = step;
  const last = errors.at(-1);
  const notes: (string | false | undefined)[] = [
    progress && describeProgress(progress),
    heartbeatAt && `last heartbeat ${fromNow(heartbeatAt, now)}`,
    last && paint('red', `${last.name}: ${oneLine(last.message)}`),
    lost.length > 0 && paint('yellow', lostText(lost)),
    unknown && paint('yellow', 'its outcome is unknown'),
    continued && 'optional: the saga continues without it',
    round > 1 && `round ${round}`,
    retryAt && retryAt.getTime() > now && `not before ${retryAt.toISOString()} (${fromNow(retryAt, now)})`,
    child !== undefined && `saga ${child}`,
    payloads && result !== undefined && `result ${payloadText(result)}`,
  ];
  return notes.flatMap((note) => (note ? [`${indent}${note}`] : []));
}

function attemptsText({ attempts, compensationAttempts, status }: StepSnapshot): string {
  if (status === 'pending' || attempts + compensationAttempts === 0) return '';
  const undoing =
    compensationAttempts > 0 ? `, ${counted(compensationAttempts, 'compensation attempt')}` : '';
  return `${counted(attempts, 'attempt')}${undoing}`;
}

function lostText(lost: readonly LostAttemptSnapshot[]): string {
  const { attempt, during, worker, lostAt } = lost.at(-1)!;
  const what = during === 'compensation' ? 'compensation attempt' : 'attempt';
  return `${what} ${attempt} was lost at ${lostAt.toISOString()}${worker === undefined ? '' : ` with worker ${worker}`}`;
}

/** How long it took, or takes until now. */
function tookText({ startedAt, updatedAt, status }: StepSnapshot, now: number): string {
  if (!startedAt || status === 'pending' || status === 'skipped') return '';
  const goesOn = status === 'running' || status === 'waiting' || status === 'compensating';
  return took(startedAt, goesOn ? new Date(now) : (updatedAt ?? startedAt));
}

function timelineLines(
  saga: SagaSnapshot,
  history: readonly HistoryEntry[],
  { paint }: PageOptions,
): string[] {
  const rows = timelineOf(saga, history).map((entry) => [
    `  ${entry.at.toISOString()}`,
    paint('dim', `+${took(saga.createdAt, entry.at)}`),
    painted(entry, paint),
  ]);
  return columns(rows);
}

function painted(entry: TimelineEntry, paint: Paint): string {
  const { kind } = entry;
  const text = eventText(entry);
  if (kind === 'attempt-failed' || kind === 'attempt-lost') return paint('red', text);
  return kind === 'operation' ? paint('yellow', text) : text;
}

/** An event in words, with the message of its error. */
export function eventText({ text, error }: TimelineEntry): string {
  return error ? `${text}: ${oneLine(error.message)}` : text;
}

function took(from: Date, to: Date): string {
  return durationText(to.getTime() - from.getTime());
}

function tagsText(tags: Readonly<Record<string, string>>): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function payloadText(payload: unknown): string {
  return JSON.stringify(payload) ?? 'none';
}

/** Without what it and its steps were given, and gave. */
export function withoutPayloads(saga: SagaSnapshot): SagaSnapshot {
  return mapPayloads(
    saga,
    () => undefined,
    () => undefined,
  );
}
