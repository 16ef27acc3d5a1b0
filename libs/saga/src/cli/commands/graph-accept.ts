import { command, DATABASE_OPTIONS, EXIT, JSON_OPTION } from '../command.js';
import { Refusal, UsageError } from '../usage-error.js';

/** Lets a release start whose graph of a version differs, such as the release before after a rollback. */
export const graphAccept = command({
  words: 'graph accept',
  operands: ['<saga>@<version>'],
  summary: 'Lets the next process start whose graph of this version has changed',
  details:
    'Without it, a process does not start while instances are running that may need what its code does not have. They keep ' +
    'the graph that they have, and become stuck when a worker runs them. It is valid for one change of the graph.',
  examples: ['saga graph accept place-order@1'],
  options: { ...DATABASE_OPTIONS, ...JSON_OPTION },
  run: async ({ operands: [written], values, terminal }) => {
    const [, name, version] = /^(.+)@(\d+)$/.exec(written!) ?? [];
    if (name === undefined)
      throw new UsageError(
        `'${written}' is no version of a saga; give <saga>@<version>, such as place-order@1`,
      );
    const { onMigratedDatabase } = await import('../operators-engine.js');
    const { PostgresGraphStore } = await import('../../store/postgres/postgres-graph-store.js');
    const isStored = await onMigratedDatabase(values, terminal, (sql, schema) =>
      new PostgresGraphStore(sql, schema).exclusively((graphs) =>
        graphs.accept({ name, version: Number(version) }),
      ),
    );
    if (!isStored)
      throw new Refusal(`No graph of ${written} is stored: it was never deployed there.`, 'SAGA_DEFINITION');
    terminal.out(
      values.json ? JSON.stringify({ done: true }) : `The next change of the graph of ${written} is accepted`,
    );
    return EXIT.done;
  },
});
