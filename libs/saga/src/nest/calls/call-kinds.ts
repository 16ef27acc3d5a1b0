import type { Type } from '@nestjs/common';
import { types } from 'node:util';
import * as kind from '../../definition/options/kinds.js';
import { type Kind, withDefault } from '../../definition/options/option-reader.js';
import { isKey, isUuid, KEY_RULE } from '../../engine/payload/storable-key.js';
import { tagsToStore, TAGS_RULE, type Tags } from '../../engine/payload/tags.js';
import { PAGE_SIZE } from '../../shared/page-size.js';

// Kinds of values that calls take.

/** The number of items on a page. */
export const pageSize = withDefault(kind.count(1, PAGE_SIZE.longest), PAGE_SIZE.usual);
export const CURSOR_RULE = 'give the `next` of the previous page';

export const key = kind.checked<string>(isKey, `give ${KEY_RULE}`);
export const uuid = kind.checked<string>(isUuid, 'give a UUID');
export const classOrName = kind.checked<Type | string>(
  (saga) => typeof saga !== 'string' || isKey(saga),
  `give a class, or ${KEY_RULE}`,
);
export const tags: Kind<Record<string, string>, Tags> = {
  read: (value, option, reader) => tagsToStore(value) ?? reader.refuse(value, option, `give ${TAGS_RULE}`),
};
/** A transaction of any database layer. */
export const transaction = kind.checked<object>(
  (given) => (typeof given === 'object' && given !== null) || typeof given === 'function',
  "give the transaction of the application's database layer",
);
/** The maximum number of characters of a reason or a comment. */
const LONGEST_COMMENT = 4_000;
/** A text of an operator. An empty one counts as none. */
export const comment = kind.checked<string>(
  (given) => given === '' || isKey(given, LONGEST_COMMENT),
  `give a string of at most ${LONGEST_COMMENT} characters, without NUL or half surrogate pairs`,
);

/** A time in milliseconds. */
export const time: Kind<Date, number> = {
  read: (value, option, reader) => timeOf(value) ?? reader.refuse(value, option, 'give a valid Date'),
};
/** A time that PostgreSQL can store. */
export const storableTime: Kind<Date> = {
  read: (value, option, reader) => {
    const found = storableTimeOf(value);
    return found === undefined
      ? reader.refuse(value, option, 'give a valid Date after 4713 BC')
      : new Date(found);
  },
};

/** PostgreSQL has no earlier time: 4713 BC. */
const EARLIEST = Date.UTC(-4713, 10, 24);

/** The time of a Date, whatever its own methods say. Undefined: the value is no valid Date. */
function timeOf(date: unknown): number | undefined {
  if (!types.isDate(date)) return undefined;
  const found = Date.prototype.getTime.call(date);
  return Number.isNaN(found) ? undefined : found;
}

/** Returns the time of a Date that PostgreSQL can store. Undefined: the value is no valid Date, or an earlier time. */
export function storableTimeOf(date: unknown): number | undefined {
  const found = timeOf(date);
  return found !== undefined && found >= EARLIEST ? found : undefined;
}
