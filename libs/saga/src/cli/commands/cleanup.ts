import { LIMIT } from '../../nest/maintenance/saga.cleanup.js';
import { command, DATABASE_OPTIONS, EXIT, JSON_OPTION, option } from '../command.js';
import { checkAskable, confirmed, YES_OPTION } from '../confirm.js';
import { operating } from '../operating.js';
import { UsageError } from '../usage-error.js';
import { readTime, readWhole } from '../values.js';

export const cleanup = command({
  words: 'cleanup',
  operands: ['[<saga>]'],
  summary: 'Deletes sagas that have ended, with all that is stored of them',
  details:
    'Sagas that others started go with those. Counts them first, and asks; --yes does not. Runs in short transactions that ' +
    'nobody waits for. --older-than is never guessed: the retention of a saga is known to its applications alone.',
  examples: ['saga cleanup --older-than 90d --dry-run', 'saga cleanup place-order --older-than 30d --yes'],
  options: {
    ...DATABASE_OPTIONS,
    ...JSON_OPTION,
    ...YES_OPTION,
    'older-than': option.text('<duration>', 'since they ended: 30d, 12h'),
    limit: option.text('<n>', `how many at most, not counting those that others started; default: ${LIMIT}`),
    'dry-run': option.flag('only counts'),
  },
  run: async ({ operands: [saga], values, terminal }) => {
    const olderThan = readTime(values['older-than'], 'older-than');
    if (olderThan === undefined) throw new UsageError('Say how old they have to be: --older-than 90d');
    const limit = readWhole(values.limit, 'limit');
    const which = { olderThan, ...(saga !== undefined && { saga }), ...(limit !== undefined && { limit }) };
    const isDry = values['dry-run'];
    if (!isDry) checkAskable(values.yes, 'cleanup', terminal);
    return operating(values, terminal, async ({ sagas }) => {
      const counted = async () => {
        const { deleted, more } = await sagas.cleanup({ ...which, dryRun: true });
        return [`${deleted} saga(s)${more ? ', and more after them,' : ''} ended long enough ago`];
      };
      if (!isDry && !(await confirmed(values.yes, 'Delete them?', counted, terminal))) return EXIT.refused;
      const result = await sagas.cleanup({ ...which, dryRun: isDry ?? false });
      const more = result.more ? '; there are more' : '';
      terminal.out(
        values.json
          ? JSON.stringify(result)
          : `${isDry ? 'Would delete' : 'Deleted'} ${result.deleted} saga(s)${more}`,
      );
      return EXIT.done;
    });
  },
});
