import { LIMIT } from '../../nest/maintenance/saga.cleanup.js';
import { command, DATABASE_OPTIONS, EXIT, JSON_OPTION, option } from '../command.js';
import { checkAskable, confirmed, YES_OPTION } from '../confirm.js';
import { operating } from '../session.js';
import { UsageError } from '../usage-error.js';
import { readTime, readWhole } from '../values.js';

export const cleanup = command({
  words: 'cleanup',
  operands: ['[<saga>]'],
  summary: 'Deletes ended sagas and all of their data',
  details:
    'Sub-sagas are deleted with their parents. The command counts first and asks for confirmation. It uses short transactions that ' +
    'block no other transaction. --older-than has no default, because only the applications know the retention of a saga.',
  examples: ['saga cleanup --older-than 90d --dry-run', 'saga cleanup place-order --older-than 30d --yes'],
  options: {
    ...DATABASE_OPTIONS,
    ...JSON_OPTION,
    ...YES_OPTION,
    'older-than': option.text('<duration>', 'the minimum time since they ended: 30d, 12h'),
    limit: option.text('<n>', `the maximum number of sagas, not counting sub-sagas; default: ${LIMIT}`),
    'dry-run': option.flag('only count the sagas'),
  },
  run: async ({ operands: [saga], values, terminal }) => {
    const olderThan = readTime(values['older-than'], 'older-than');
    if (olderThan === undefined) throw new UsageError('Give --older-than, such as --older-than 90d');
    const limit = readWhole(values.limit, 'limit');
    const which = { olderThan, ...(saga !== undefined && { saga }), ...(limit !== undefined && { limit }) };
    const isDry = values['dry-run'];
    if (!isDry) checkAskable(values.yes, 'cleanup', terminal);
    return operating(values, terminal, async ({ sagas }) => {
      const counted = async () => {
        const { deleted, more } = await sagas.cleanup({ ...which, dryRun: true });
        return [`${deleted} saga(s)${more ? ', and more,' : ''} ended long enough ago`];
      };
      if (!isDry && !(await confirmed(values.yes, 'Delete them?', counted, terminal))) return EXIT.refused;
      const result = await sagas.cleanup({ ...which, dryRun: isDry ?? false });
      const more = result.more ? ', and more' : '';
      terminal.out(
        values.json
          ? JSON.stringify(result)
          : `${isDry ? 'Would delete' : 'Deleted'} ${result.deleted} saga(s)${more}`,
      );
      return EXIT.done;
    });
  },
});
