import { SagaValidationError } from '../../errors.js';
import { entriesOf } from '../../shared/entries-of.js';
import { shown } from '../../shared/shown-value.js';
import { isKey, KEY_RULE } from './storable-key.js';

/** Tags of one saga: each is in its row, in an index, and in every list. */
const MOST_TAGS = 100;
export const TAGS_RULE = `an object of at most ${MOST_TAGS} entries, whose keys and values are each ${KEY_RULE}`;

export type Tags = Readonly<Record<string, string>>;

/** What changes of the tags of a saga. Null: the tag is removed. */
export type TagChanges = Readonly<Record<string, string | null>>;

/** Tags as they are stored; undefined: they are none. */
export function tagsToStore(given: unknown): Record<string, string> | undefined {
  const entries = entriesOf(given);
  if (!entries?.every((entry): entry is [string, string] => isKey(entry[0]) && isKey(entry[1])))
    return undefined;
  if (entries.length > MOST_TAGS) return undefined;
  return Object.fromEntries(entries);
}

/**
 * The changes of a method, these after those of before.
 * @param tags those of its saga
 * @throws SagaValidationError if these are no changes of tags, or the saga would have too many
 */
export function addTagChanges(
  tags: Tags | undefined,
  before: TagChanges | undefined,
  given: unknown,
): TagChanges {
  const changes = { ...before, ...readTagChanges(given) };
  const { length } = Object.keys(changeTags(tags, [changes]));
  if (length <= MOST_TAGS) return changes;
  throw new SagaValidationError(`setTags(): the saga would have ${length} tags; the limit is ${MOST_TAGS}.`);
}

function readTagChanges(given: unknown): TagChanges {
  const entries = entriesOf(given);
  const isChange = (value: unknown): value is string | null => value === null || isKey(value);
  if (entries?.every((entry): entry is [string, string | null] => isKey(entry[0]) && isChange(entry[1])))
    return Object.fromEntries(entries);
  const wrong = entries?.find(([key, value]) => !isKey(key) || !isChange(value));
  const what = wrong ? `${shown(wrong[0])} is ${shown(wrong[1])}` : `they are ${shown(given)}`;
  throw new SagaValidationError(`setTags(): tags must be ${TAGS_RULE}, or null to remove the tag; ${what}.`);
}

/** The tags after some changes, the oldest first. */
export function changeTags(tags: Tags | undefined, changes: readonly TagChanges[]): Tags {
  const changed = Object.assign({}, tags, ...changes) as Record<string, string | null>;
  return Object.fromEntries(
    Object.entries(changed).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}
