// The library as installed, with all defaults, beside peers on the same Node.
import { spread, table } from './format.mjs';
import { engineOf, ratios, valuesOf } from './lines.mjs';

const HEAD = ['Node', 'sagas/s', 'times DBOS', 'times pg-boss with hand-written batches'];

/** For each major version of Node: { node, sagas, dbos, pgBoss }, the ratios of each round. */
export function installedRuns(lines) {
  const installed = lines.filter((line) => line.installed);
  const nodes = [...new Set(installed.map(({ node }) => node))].sort();
  return nodes.map((node) => {
    const of = (engine) => installed.filter((line) => line.node === node && engineOf(line) === engine);
    return {
      node,
      sagas: valuesOf(of('saga')),
      dbos: ratios(of('saga'), of('dbos direct')),
      pgBoss: ratios(of('saga'), of('pg-boss batch')),
    };
  });
}

/** Undefined without any line of it. */
export function installedTable(lines) {
  const rows = installedRuns(lines).map(({ node, sagas, dbos, pgBoss }) => [
    node,
    ...[sagas, dbos, pgBoss].map(spread),
  ]);
  return rows.length > 0 ? table(HEAD, rows) : undefined;
}
