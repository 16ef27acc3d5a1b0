import { command, DATABASE_OPTIONS, EXIT, JSON_OPTION } from '../command.js';
import type { SagaReport } from '../text/graph-report.js';
import { onDatabase } from '../session.js';

/** What deploying the sagas of a file would mean for the instances that are running. */
export const graphDiff = command({
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
    const reports = await onDatabase(values, terminal, async (dataSource, schema) => {
      const [{ there }] = await dataSource.query<[{ there: boolean }]>(
        'SELECT to_regclass($1) IS NOT NULL AS there',
        [`"${schema}".graph`],
      );
      if (there) {
        const { reportOnDatabase } = await import('../text/graph-report.js');
        return reportOnDatabase(sagas, dataSource, schema);
      }
      if (!values.json)
        terminal.out(
          `Schema '${schema}' has no graphs: no saga has been deployed there, so no instance is affected.`,
        );
      return undefined;
    });
    const affected = sumOf(reports, 'affected');
    const unaffected = sumOf(reports, 'unaffected');
    if (values.json)
      terminal.out(JSON.stringify({ sagas: reports ?? [], affected, unaffected }, undefined, 2));
    else if (reports) {
      for (const report of reports) terminal.out(textOf(report));
      terminal.out(`\nTotal: ${affected} affected, ${unaffected} not affected`);
    }
    return affected > 0 ? EXIT.refused : EXIT.done;
  },
});

function sumOf(reports: readonly SagaReport[] = [], count: 'affected' | 'unaffected'): number {
  return reports.reduce((sum, report) => sum + report[count], 0);
}

function textOf({ label, finding, lines }: SagaReport): string {
  return [`${label}  ${finding}`, ...lines.map((line) => `  ${line}`)].join('\n');
}
