import { type SagaStatus, SagaValidationError } from 'nestjs-durable-saga';
import {
  type Kind,
  NEEDS_ATTENTION,
  type Option,
  OptionReader,
  type OptionsRead,
  PAGE_SIZE,
  SAGA_STATUSES,
  isKey,
  optional,
  readObject,
  shown,
  textOfDiagnostic,
  textOfProblems,
  withoutProblems,
} from 'nestjs-durable-saga/internal';
import type { FieldDoc } from './api-docs.js';

/** A parameter of a query: how it is read, and how OpenAPI describes it. */
export type Parameter<T> = Option<unknown, T> & { readonly doc: FieldDoc };

/** The parameters that a route has. */
export type QueryTable = Readonly<Record<string, Parameter<unknown>>>;

/**
 * Reads a query string, in which each name stands once or several times.
 * @throws SagaValidationError naming everything that is wrong at once
 */
export function readQuery<Table extends QueryTable>(table: Table, query: unknown): OptionsRead<Table> {
  return withoutProblems('The query is invalid', SagaValidationError, (report) =>
    new OptionReader(report).read(table, query),
  );
}

/** A parameter that stands once. An empty one is as if it were not given. */
function once<T>(kind: Kind<string, T>): Kind<unknown, T | undefined> {
  return {
    read: (value, name, reader) => {
      if (value === '') return undefined;
      if (typeof value !== 'string') return reader.refuse(value, name, 'give it only once');
      if (isKey(value, Infinity)) return kind.read(value, name, reader);
      // PostgreSQL has no such text.
      return void reader.report(`${name} has NUL or half surrogate pairs`, 'give it without them');
    },
  };
}

/** A time of ISO 8601. */
export const isoTime: Kind<string, Date> = {
  read: (text, name, reader) => {
    const time = new Date(text);
    if (!Number.isNaN(time.getTime())) return time;
    return reader.refuse(text, name, 'give an ISO 8601 time, such as 2030-01-31T12:00:00Z');
  },
};

const flag: Kind<string, boolean> = {
  read: (text, name, reader) =>
    text === 'true' || text === 'false' ? text === 'true' : reader.refuse(text, name, 'give true or false'),
};

const countWithin = (least: number, most: number): Kind<string, number> => ({
  read: (text, name, reader) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    return reader.refuse(text, name, `give a whole number from ${least} to ${most}`);
  },
});

/** Several values, of which the empty ones are left out. Undefined: some are no texts. */
function textsOf(given: unknown): string[] | undefined {
  const texts: unknown[] = Array.isArray(given) ? given : [given];
  return texts.every((text) => typeof text === 'string') ? texts.filter((text) => text !== '') : undefined;
}

const statuses: Kind<unknown, SagaStatus[] | undefined> = {
  read: (given, name, reader) => {
    const words = textsOf(given)?.flatMap((text) => text.split(','));
    const found = words?.flatMap((word): SagaStatus[] =>
      word === 'needs-attention' ? [...NEEDS_ATTENTION] : [word as SagaStatus],
    );
    if (found?.every((status) => SAGA_STATUSES.includes(status)))
      return found.length === 0 ? undefined : [...new Set(found)];
    const fix = `give needs-attention, or one or more of ${SAGA_STATUSES.join(', ')}`;
    return reader.refuse(given, name, fix);
  },
};

const tags: Kind<unknown, Record<string, string> | undefined> = {
  read: (given, name, reader) => {
    const pairs = textsOf(given)?.map((text) => [text, text.indexOf(':')] as const);
    if (!pairs?.every(([text, colon]) => colon > 0 && colon < text.length - 1))
      return reader.refuse(given, name, 'give key:value');
    if (pairs.length === 0) return undefined;
    return Object.fromEntries(pairs.map(([text, colon]) => [text.slice(0, colon), text.slice(colon + 1)]));
  },
};

/** The kinds of parameters. */
export const parameter = {
  text: (description: string) => ({ ...optional(once({ read: (text) => text })), doc: { description } }),
  time: (description: string) => ({
    ...optional(once(isoTime)),
    doc: { format: 'date-time', description },
  }),
  flag: (description: string) => ({
    ...optional(once(flag)),
    doc: { type: 'boolean', description } as const,
  }),
  /** @param longest milliseconds */
  duration: (longest: number, description: string) => ({
    ...optional(once({ read: (text, name, reader) => reader.duration(text, name, { longest }) })),
    doc: { example: '30s', description },
  }),
  count: (least: number, most: number, byDefault: number) => {
    const { read } = optional(once(countWithin(least, most)));
    return {
      read: (...given: Parameters<typeof read>): number => read(...given) ?? byDefault,
      doc: { type: 'integer', minimum: least, maximum: most, default: byDefault } as const,
    };
  },
  statuses: () => ({
    ...optional(statuses),
    doc: {
      description: `needs-attention (stuck, suspended or paused), or a comma-separated list of: ${SAGA_STATUSES.join(', ')}.`,
    },
  }),
  tags: () => ({
    ...optional(tags),
    doc: {
      ...({ type: 'string', isArray: true } as const),
      description: 'A tag as key:value. If given several times, a saga must have all of the tags.',
    },
  }),
};

/** The parameters of every list that comes in pages. */
export const PAGE_QUERY = {
  limit: parameter.count(1, PAGE_SIZE.longestOverRest, PAGE_SIZE.usual),
  cursor: parameter.text('The `next` of the previous page.'),
};

/** Reads the saga of a query, for the access check that comes before the rest is read. */
export function sagaOf(given: unknown): { readonly saga?: string } {
  const { saga } = (given ?? {}) as { saga?: unknown };
  return typeof saga === 'string' && saga !== '' ? { saga } : {};
}

/**
 * Reads the body of an action: a JSON object with no other fields than these. The call that receives a field validates
 * its value.
 * @param below the field of the body that has them, with a dot: `filter.`
 * @throws SagaValidationError
 */
export function readBody<const Name extends string>(
  body: unknown,
  names: readonly Name[],
  below = '',
): Partial<Record<Name, unknown>> {
  if (body === undefined || body === null) return {};
  const what = below === '' ? 'The body' : `The body's ${below.slice(0, -1)}`;
  const read = readObject<Record<Name, unknown>>(body, names, below);
  if (!read) throw new SagaValidationError(`${what} is ${shown(body)}; send a JSON object.`);
  if (read.flaws.length > 0)
    throw new SagaValidationError(`${what}: ${textOfProblems(read.flaws.map(textOfDiagnostic))}`);
  return read.options;
}
