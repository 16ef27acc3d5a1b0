import { CLEANUP_LIMIT, withoutUndefined } from 'nestjs-durable-saga/internal';
import { did, EXIT, option, UsageError } from '../command.js';
import { checkAskable, confirmed, YES_OPTION } from '../confirm.js';
import { sagaCommand } from '../session.js';
import { readTime, readWhole } from '../values.js';

export const cleanup = sagaCommand({
  words: 'cleanup',
  operands: ['[<saga>]'],
  summary: 'Deletes ended sagas and all of their data',
  details:
    'Sub-sagas are deleted with their parents. The command counts first and asks for confirmation. It uses short transactions that ' +
    'block no other transaction. --older-than has no default, because only the applications know the retention of a saga.',
  examples: ['saga cleanup --older-than 90d --dry-run', 'saga cleanup place-order --older-than 30d --yes'],
  options: {
    ...YES_OPTION,
    'older-than': option.text('<duration>', 'the minimum time since they ended: 30d, 12h'),
    limit: option.text(
      '<n>',
      `the maximum number of sagas, not counting sub-sagas; default: ${CLEANUP_LIMIT}`,
    ),
    'dry-run': option.flag('only count the sagas'),
  },
  prepare: ({ operands: [saga], values, terminal }) => {
    const olderThan = readTime(values['older-than'], 'older-than');
    if (olderThan === undefined) throw new UsageError('Give --older-than, such as --older-than 90d');
    if (!values['dry-run']) checkAskable(values.yes, 'cleanup', terminal);
    const { limit, 'dry-run': dryRun = false } = values;
    return withoutUndefined({ olderThan, saga, limit: readWhole(limit, 'limit'), dryRun });
  },
  run: async ({ values, terminal }, { operations }, which) => {
    const { dryRun } = which;
    const counted = async () => {
      const { deleted, more } = await operations.cleanup({ ...which, dryRun: true });
      return [`${deleted} saga(s)${more ? ', and more,' : ''} ended long enough ago`];
    };
    if (!dryRun && !(await confirmed(values.yes, 'Delete them?', counted, terminal))) return EXIT.refused;
    const result = await operations.cleanup(which);
    const more = result.more ? ', and more' : '';
    return did(`${dryRun ? 'Would delete' : 'Deleted'} ${result.deleted} saga(s)${more}`, result);
  },
});
