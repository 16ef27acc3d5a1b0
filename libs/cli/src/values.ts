import { access, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SagaFilter, SagaStatus } from 'nestjs-durable-saga';
import { SAGA_STATUSES, nearestName, readDuration, toMilliseconds } from 'nestjs-durable-saga/internal';
import type { Terminal } from './terminal.js';
import { UsageError } from './command.js';

/** What a value of JSON may be written as, for help. */
export const JSON_SOURCES = 'JSON, @<file>, or - for standard input';

/**
 * JSON as it is written, in a file (`@file`), or piped in (`-`); undefined: none was given.
 * @param what begins the message: `<input>`
 */
export async function readJson(
  written: string | undefined,
  what: string,
  terminal: Terminal,
): Promise<unknown> {
  if (written === undefined) return undefined;
  const text = await textOf(written, what, terminal);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const hint = /^[\w.-]+$/.test(text) ? `; a string is '"${text}"'` : '';
    throw new UsageError(`${what} is not JSON: ${(error as Error).message}${hint}`);
  }
}

async function textOf(written: string, what: string, terminal: Terminal): Promise<string> {
  if (written === '-') return terminal.input();
  if (!written.startsWith('@')) return written;
  try {
    return await readFile(written.slice(1), 'utf8');
  } catch (error) {
    throw new UsageError(`${what}: ${(error as Error).message}`);
  }
}

export function readWhole(written: string | undefined, name: string): number | undefined {
  if (written === undefined) return undefined;
  if (!/^\d{1,15}$/.test(written))
    throw new UsageError(`--${name} '${written}' is not a number; give a whole number from 0`);
  return Number(written);
}

/** Milliseconds. */
export function readTime(written: string | undefined, name: string): number | undefined {
  return written === undefined
    ? undefined
    : toMilliseconds(/^\d+$/.test(written) ? Number(written) : written, `--${name}`);
}

/** `2026-11-21`, `2026-11-21T22:00Z`, or how long ago: `15m`. */
export function readDate(written: string, name: string): Date {
  const ago = readDuration(written, name);
  if (typeof ago === 'number') return new Date(Date.now() - ago);
  const date = /^\d{4}-\d\d-\d\d/.test(written) ? new Date(written) : new Date(NaN);
  if (!Number.isNaN(date.getTime())) return date;
  throw new UsageError(
    `${name} '${written}' is not a time; give a time such as 2026-11-21T22:00Z, or a duration before now, such as 15m`,
  );
}

/** `name=value` */
export function readPair(written: string, name: string): [string, string] {
  const place = written.indexOf('=');
  if (place > 0) return [written.slice(0, place), written.slice(place + 1)];
  throw new UsageError(`--${name} '${written}' has no value; give <name>=<value>`);
}

export function readTags(written: readonly string[] | undefined): Record<string, string> | undefined {
  return written && Object.fromEntries(written.map((one) => readPair(one, 'tag')));
}

export const WHERE =
  'a filter: saga=<name>, status=<status>, correlation-id=<id>, tag.<name>=<value>, created-after=<time>, created-before=<time>, ' +
  'ended-after=<time>, ended-before=<time>, step=<name>, waiting-for=<signal>, overdue=<true or false>, error-code=<code>';

/** A filter of conditions, of which all have to hold; several statuses: any of them. */
export function readWhere(conditions: readonly string[]): SagaFilter {
  const filter: SagaFilter & { status?: SagaStatus[] } = {};
  for (const condition of conditions) {
    const [name, value] = readPair(condition, 'where');
    if (name === 'saga') filter.saga = value;
    else if (name === 'status') filter.status = [...(filter.status ?? []), ...readStatuses(value)];
    else if (name === 'correlation-id') filter.correlationId = value;
    else if (name.startsWith('tag.')) filter.tags = { ...filter.tags, [name.slice('tag.'.length)]: value };
    else if (name === 'created-after') filter.createdAfter = readDate(value, name);
    else if (name === 'created-before') filter.createdBefore = readDate(value, name);
    else if (name === 'ended-after') filter.endedAt = { ...filter.endedAt, from: readDate(value, name) };
    else if (name === 'ended-before') filter.endedAt = { ...filter.endedAt, to: readDate(value, name) };
    else if (name === 'step') filter.step = value;
    else if (name === 'waiting-for') filter.waitingFor = value;
    else if (name === 'overdue') filter.overdue = readFlag(value, name);
    else if (name === 'error-code') filter.errorCode = value;
    else throw new UsageError(`--where has no '${name}'${meant(name) ?? `; give ${WHERE}`}`);
  }
  return filter;
}

const CONDITIONS = [
  ...['saga', 'status', 'correlation-id', 'created-after', 'created-before', 'ended-after', 'ended-before'],
  ...['step', 'waiting-for', 'overdue', 'error-code'],
];

function readFlag(value: string, name: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw new UsageError(`${name} is '${value}'; give true or false`);
}

function meant(written: string): string | undefined {
  const nearest = written.startsWith('tags.')
    ? `tag.${written.slice('tags.'.length)}`
    : nearestName(written, CONDITIONS);
  return nearest === undefined ? undefined : `. Did you mean '${nearest}'?`;
}

/** One, or several with commas between them. */
export function readStatuses(written: string): SagaStatus[] {
  return written.split(',').map((one) => {
    const status = SAGA_STATUSES.find((known) => known === one);
    if (status) return status;
    throw new UsageError(`'${one}' is not a status; give one of ${SAGA_STATUSES.join(', ')}`);
  });
}

/** Imports a compiled file that a command was given, and returns its absolute path and its exports. @throws UsageError if there is none */
export async function importFile(
  file: string,
): Promise<{ readonly path: string; readonly exported: Readonly<Record<string, unknown>> }> {
  const path = resolve(file);
  await access(path).catch(() => {
    throw new UsageError(`The file ${path} does not exist`);
  });
  return { path, exported: (await import(pathToFileURL(path).href)) as Record<string, unknown> };
}
