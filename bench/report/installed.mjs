// The library as installed, with all defaults, beside peers on the same Node.
import { spread, table } from './format.mjs';
import { engineOf, ratios, valuesOf } from './lines.mjs';

const HEAD = ['Node', 'process', 'sagas/s', 'times DBOS', 'times pg-boss with hand-written batches'];

/** The loads that a process has, one after the other, by the metric of their lines. */
const LOADS = { throughput: 'new', throughput_in_service: 'in service' };

/** For each version of Node, and each load: { node, process, sagas, dbos, pgBoss }, the ratios of each round. */
export function installedRuns(lines) {
  const installed = lines.filter((line) => line.installed);
  const nodes = [...new Set(installed.map(({ node }) => node))].sort();
  return nodes.flatMap((node) =>
    Object.entries(LOADS).flatMap(([metric, process]) => {
      const own = installed.filter((line) => line.node === node && line.metric === metric);
      const of = (engine) => own.filter((line) => engineOf(line) === engine);
      const figures = {
        sagas: valuesOf(of('saga')),
        dbos: ratios(of('saga'), of('dbos direct')),
        pgBoss: ratios(of('saga'), of('pg-boss batch')),
      };
      return own.length > 0 ? [{ node, process, ...figures }] : [];
    }),
  );
}

/** Undefined without any line of it. */
export function installedTable(lines) {
  const rows = installedRuns(lines).map(({ node, process, sagas, dbos, pgBoss }) => [
    ...[node, process],
    ...[sagas, dbos, pgBoss].map(spread),
  ]);
  return rows.length > 0 ? table(HEAD, rows) : undefined;
}
