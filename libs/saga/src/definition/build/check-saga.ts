import type { Type } from '@nestjs/common';
import { HANDLER_PREFIX } from '../options/handler-name.js';
import { LARGEST_COUNT, LONGEST_NAME, OptionReader, UNREADABLE } from '../options/option-reader.js';
import type { SagaGraph } from '../graph/saga-graph.js';
import { SagaMetadata } from '../decorators/saga-metadata.js';
import { defaultSagaName } from '../decorators/saga-name.js';
import type { Report } from '../../shared/diagnostic.js';
import type { SagaOptions } from '../options/saga-options.js';
import { readRateLimit } from './read-rate-limit.js';
import { readSchedule } from '../schedule/read-schedule.js';
import { shown } from '../../shared/shown-value.js';
import { isStandardSchema } from '../types/standard-schema.js';

const SAGA_OPTIONS = [
  'name',
  'version',
  'upgradeFrom',
  'input',
  'retry',
  'compensationRetry',
  'timeout',
  'schedule',
  'sla',
  'onFailure',
  'durability',
  'lockKey',
  'lockMode',
  'concurrency',
  'rateLimit',
  'retention',
  'redact',
] as const satisfies (keyof SagaOptions)[];

/** What a graph has of its saga's own options; its steps' policies are read with them. */
export function readSaga(saga: Type, given: SagaOptions, report: Report): Omit<SagaGraph, 'steps'> {
  const read = new OptionReader(report, '@Saga ');
  const options = read.options(given, SAGA_OPTIONS);
  const { timeout, sla, concurrency } = options;
  const name: unknown = options.name ?? defaultSagaName(saga);
  const version: unknown = options.version ?? 1;
  if (
    !(typeof name === 'string' && name.length > 0 && name.length <= LONGEST_NAME) ||
    name.trim() !== name ||
    UNREADABLE.test(name)
  ) {
    report(
      `@Saga name ${shown(name)} cannot be used`,
      `give 1 to ${LONGEST_NAME} characters, without spaces around them or control characters`,
    );
  }
  if (typeof name === 'string' && name.startsWith(HANDLER_PREFIX)) {
    report(
      `@Saga name ${shown(name)} begins with '${HANDLER_PREFIX}', which is reserved for step handlers`,
      'give it another name',
    );
  }
  if (!(Number.isInteger(version) && (version as number) >= 1 && (version as number) <= LARGEST_COUNT)) {
    report(`@Saga version ${shown(version)} cannot be used`, 'give a whole number from 1');
  }
  if (SagaMetadata.stepsOf(saga).length === 0) {
    report('it has no steps', 'decorate at least one method with @Step()');
  }
  return {
    name: name as string,
    version: version as number,
    upgradeFrom: readUpgradeFrom(options.upgradeFrom, version, report),
    input: readInput(options.input, report),
    timeout:
      timeout === undefined || typeof timeout === 'function'
        ? undefined
        : read.durationAboveZero(
            timeout,
            'timeout',
            'would make every saga compensate before its first step',
          ),
    timeoutOf: typeof timeout === 'function' ? timeout : undefined,
    sla:
      sla === undefined || typeof sla === 'function'
        ? undefined
        : read.durationAboveZero(sla, 'sla', 'would make every saga overdue at once'),
    slaOf: typeof sla === 'function' ? sla : undefined,
    schedule: readSchedule(options.schedule, { hasLockKey: options.lockKey !== undefined, read, report }),
    onFailure: read.oneOf(options.onFailure, 'onFailure', ['compensate', 'suspend']),
    durability: read.oneOf(options.durability, 'durability', ['durable', 'relaxed']),
    lockKey: read.function(options.lockKey, 'lockKey'),
    ...readLockMode(options, read, report),
    ...readConcurrency(concurrency, read),
    ...readLimit(options.rateLimit, read),
    retention: readRetention(options.retention, read),
    redact: readRedact(options.redact, '@Saga', report),
  };
}

function readLockMode(
  { lockMode, lockKey }: Pick<SagaOptions, 'lockMode' | 'lockKey'>,
  read: OptionReader,
  report: Report,
): Pick<SagaGraph, 'rejectsWhileLocked'> {
  if (lockMode !== undefined && lockKey === undefined)
    report('@Saga lockMode needs a lock', 'add lockKey, or remove lockMode');
  const mode = read.oneOf(lockMode, 'lockMode', ['queue', 'reject']);
  return mode === 'reject' ? { rejectsWhileLocked: true } : {};
}

function readConcurrency(
  given: SagaOptions['concurrency'],
  read: OptionReader,
): Pick<SagaGraph, 'concurrency' | 'limitKey'> {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null) return { concurrency: read.count(given, 'concurrency') };
  const limit = read.object(given, 'concurrency', ['count', 'key'], 'a whole number');
  const limitKey = limit && read.function(limit.key, 'concurrency.key');
  return {
    concurrency: limit && read.count(limit.count, 'concurrency.count'),
    ...(limitKey && { limitKey }),
  };
}

function readLimit(given: SagaOptions['rateLimit'], read: OptionReader): Pick<SagaGraph, 'rateLimit'> {
  const rateLimit = readRateLimit(given, read);
  return rateLimit ? { rateLimit } : {};
}

/**
 * Whether a class declares any validation is known only when the application starts, once class-validator is loaded.
 */
function readInput(given: unknown, report: Report): SagaGraph['input'] {
  if (given === undefined || isStandardSchema(given)) return given;
  if (typeof given === 'function' && 'prototype' in given) return given as Type;
  report(
    `@Saga input is ${shown(given)}`,
    "give a class with class-validator's decorators, or a Standard Schema (zod from 3.24, valibot from 1.0, arktype from 2.0)",
  );
  return undefined;
}

function readRetention(given: SagaOptions['retention'], read: OptionReader): number | false | undefined {
  if (given === undefined || given === false) return given;
  return read.durationAboveZero(given, 'retention', 'would delete every saga as soon as it has ended');
}

/** @param owner the decorator that was given them */
export function readRedact(given: unknown, owner: string, report: Report): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const isPath = (path: unknown) => typeof path === 'string' && path.split('.').every((key) => key !== '');
  if (Array.isArray(given) && given.every(isPath)) return [...(given as string[])];
  report(
    `${owner} redact is ${shown(given)}`,
    "give an array of field paths with dots between the keys, such as ['card.number', 'lines.*.price']",
  );
  return undefined;
}

function readUpgradeFrom(given: unknown, version: unknown, report: Report): readonly number[] | undefined {
  if (given === undefined) return undefined;
  const versions: unknown[] = Array.isArray(given) ? given : [given];
  for (const from of versions) {
    if (Number.isInteger(from) && (from as number) >= 1 && (from as number) < (version as number)) continue;
    report(
      `@Saga upgradeFrom ${shown(from)} is not lower than the version ${shown(version)}`,
      version === 1 ? 'give the new graph a higher version' : 'give a lower version, such as upgradeFrom: 1',
    );
  }
  return [...new Set(versions as number[])].sort((a, b) => b - a);
}
