import type { SagaDescription } from 'nestjs-durable-saga/diagram';
import { mermaidOf, nearestName, sagaLabel } from 'nestjs-durable-saga/internal';
import {
  type Command,
  command,
  DATABASE_OPTIONS,
  did,
  EXIT,
  JSON_OPTION,
  option,
  Refusal,
  shows,
  UsageError,
} from '../command.js';
import { isDeclaredFile, readDeclared } from '../local/declared-files.js';
import { type Deployed, PLACE_OPTIONS, SAGA_OPTIONS } from '../operator-session.js';
import { onDatabase, operating } from '../session.js';

const diagram = command({
  words: 'diagram',
  operands: ['<saga[@version]> or <file…>'],
  summary: 'Prints the graph of a deployed or declared saga as a Mermaid flowchart',
  details:
    'Prints the highest version by default. --json prints the graph as data. Of a declared saga, give its file and ' +
    'those of its sub-sagas: the first is drawn, without a database.',
  examples: [
    'saga diagram place-order > place-order.mmd',
    'saga diagram place-order@1 --direction LR',
    'saga diagram place-order.yaml',
  ],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    direction: option.text('<TD|LR>', 'TD (top down) or LR (left to right); default: TD'),
  },
  run: async ({ operands, values, terminal }) => {
    const { direction = 'TD' } = values;
    if (direction !== 'TD' && direction !== 'LR')
      throw new UsageError(`--direction '${direction}' is not a direction; give TD or LR`);
    const [name, extra] = operands;
    if (!isDeclaredFile(name!) && extra !== undefined)
      throw new UsageError(`'${extra}' is an unexpected argument`);
    const about = isDeclaredFile(name!)
      ? await declaredIn(operands)
      : await operating(values, terminal, async ({ deployed }) => deployedAs(name!, deployed).about);
    return shows(about, [mermaidOf(about, { direction }).trimEnd()]);
  },
});

async function declaredIn(files: readonly string[]): Promise<SagaDescription> {
  const [type] = await readDeclared(files, false);
  const { describeSaga } = await import('nestjs-durable-saga/internal');
  return describeSaga(type!);
}

/** By `name@version`, or the highest version of a name. @throws Refusal when none of it was ever deployed */
export function deployedAs(written: string, deployed: readonly Deployed[]): Deployed {
  const ofName = deployed.filter(({ name }) => name === written);
  const found = deployed.find((one) => sagaLabel(one) === written) ?? ofName.at(-1);
  if (found) return found;
  const meant = nearestName(written, [...deployed.map(sagaLabel), ...deployed.map(({ name }) => name)]);
  const names = [...new Set(deployed.map(({ name }) => name))].join(', ') || 'none';
  throw new Refusal(
    `No saga '${written}' was deployed here${meant === undefined ? `. Deployed: ${names}` : `; did you mean '${meant}'?`}`,
    'SAGA_NOT_FOUND',
  );
}

/** What deploying the sagas of a file would mean for the instances that are running. */
const diff = command({
  words: 'graph diff',
  operands: ['<module file>'],
  summary: 'Shows how deploying a compiled module would affect running instances',
  details:
    'Compares its sagas with the stored graphs and changes nothing. Exit code: 0 if no instance is affected, 1 ' +
    'if one is, 2 if the command failed.',
  examples: ['saga graph diff dist/app.module.js'],
  options: { ...DATABASE_OPTIONS, ...JSON_OPTION },
  run: async ({ operands: [file], values, terminal }) => {
    const { sagasOfFile } = await import('../sagas-of-module.js');
    const sagas = await sagasOfFile(file!);
    return onDatabase(values, terminal, async (sql, schema) => {
      const [{ there }] = await sql.query<[{ there: boolean }]>(
        'SELECT to_regclass($1) IS NOT NULL AS there',
        [`"${schema}".graph`],
      );
      const { reportOnDatabase } = await import('../text/graph-report.js');
      const reports = there ? await reportOnDatabase(sagas, sql, schema) : [];
      const [affected, unaffected] = (['affected', 'unaffected'] as const).map((count) =>
        reports.reduce((sum, report) => sum + report[count], 0),
      );
      const text = there
        ? [
            ...reports.map(({ label, finding, lines }) => [`${label}  ${finding}`, ...lines].join('\n  ')),
            `\nTotal: ${affected} affected, ${unaffected} not affected`,
          ]
        : [`Schema '${schema}' has no graphs: no saga has been deployed there, so no instance is affected.`];
      const exit = affected! > 0 ? EXIT.refused : EXIT.done;
      return { ...shows({ sagas: reports, affected, unaffected }, text), exit };
    });
  },
});

/** Lets a release start whose graph of a version differs, such as the release before after a rollback. */
const accept = command({
  words: 'graph accept',
  operands: ['<saga>@<version>'],
  summary: 'Lets the next process start whose graph of this version has changed',
  details:
    'Without it, a process does not start while instances are running that may need what its code does not have. They keep ' +
    'the graph that they have, and become stuck when a worker runs them. It is valid for one change of the graph.',
  examples: ['saga graph accept place-order@1'],
  options: { ...PLACE_OPTIONS, ...JSON_OPTION },
  run: async ({ operands: [written], values, terminal }) => {
    const [, name, version] = /^(.+)@(\d+)$/.exec(written!) ?? [];
    if (name === undefined)
      throw new UsageError(
        `'${written}' is no version of a saga; give <saga>@<version>, such as place-order@1`,
      );
    const { onBackend } = await import('../operators-engine.js');
    const isStored = await onBackend(values, terminal, ({ graphs }) =>
      graphs.exclusively((stored) => stored.accept({ name, version: Number(version) })),
    );
    if (!isStored)
      throw new Refusal(`No graph of ${written} is stored: it was never deployed there.`, 'SAGA_DEFINITION');
    return did(`The next change of the graph of ${written} is accepted`);
  },
});

export const graphCommands: readonly Command[] = [diagram, diff, accept];
