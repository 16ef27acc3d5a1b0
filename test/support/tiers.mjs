/**
 * Which specs are in which tier of tests. A spec is in the tier that its name ends with (`dashboard.system.spec.ts`);
 * otherwise in the tier of its folder. Of two folders, one inside the other, the inner one decides.
 *
 * - unit: requires no build and no PostgreSQL.
 * - database: runs the store contract, and sagas forward and back, on PostgreSQL. With the units it is `npm test`, which is to
 *   take three minutes on two processors.
 * - system: the rest. It runs all else that sagas do on PostgreSQL, messaging, the REST API, the command line, and the contract
 *   of all database layers, starts processes, browsers and servers, compiles, installs packages, or takes long.
 * - slow: what `.ci/run` has no time for. The workflow of CI runs it beside `.ci/run`. A spec is in it by its name only.
 */
export const TIERS = {
  unit: ['libs', 'libs/saga/src/store/memory', 'test/bench', 'test/mutants', 'test/support', 'test/testing'],
  database: ['libs/saga/src/store', 'test/sagas/forward', 'test/sagas/rollback'],
  system: [
    'apps',
    'docs',
    'test/admin',
    'test/chaos',
    'test/cli',
    'test/compatibility',
    'test/databases',
    'test/declared',
    'test/first-run',
    'test/fuzz',
    'test/messaging',
    'test/options',
    'test/packaging',
    'test/restate',
    'test/sagas',
    'test/simulation',
    'test/site',
    'test/telemetry',
    'test/types',
    'test/world',
  ],
  slow: [],
};

const NAMED = `\\.(?:${Object.keys(TIERS).join('|')})\\.spec\\.ts$`;

/** A regular expression that matches the paths of a tier's specs below `root`, and no others: jest's `testRegex`. */
export function specsOf(tier, root) {
  const folders = TIERS[tier].map((folder) => `${folder}/${exceptOtherTiers(tier, folder)}`);
  const inFolders = folders.length === 0 ? [] : [`(?:${folders.join('|')})(?!.*${NAMED}).+`];
  return `^${escaped(root)}/(?:${[`.+\\.${tier}`, ...inFolders].join('|')})\\.spec\\.ts$`;
}

/** A lookahead that refuses the folders of other tiers inside of this folder. */
function exceptOtherTiers(tier, folder) {
  const inside = Object.entries(TIERS)
    .filter(([other]) => other !== tier)
    .flatMap(([, folders]) => folders.filter((other) => other.startsWith(`${folder}/`)))
    .map((other) => other.slice(folder.length + 1));
  return inside.length === 0 ? '' : `(?!(?:${inside.join('|')})/)`;
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
