import { readFileSync } from 'node:fs';

/**
 * The packages below libs/, and the others that each may import: by their names, that is, by their entries only. `npm run lint`
 * holds the code to this file (.dependency-cruiser.mjs), and docs/architecture.md shows it.
 */
export const PACKAGES = {
  saga: [],
  messaging: ['saga'],
  telemetry: ['saga'],
  restate: ['saga'],
  admin: ['saga'],
  declared: ['admin', 'telemetry', 'messaging', 'saga'],
  cli: ['declared', 'admin', 'saga'],
};

/** The name under which a package is published. @param {string} folder below libs/ */
export const publishedName = (folder) =>
  folder === 'saga' ? 'nestjs-durable-saga' : `nestjs-durable-saga-${folder}`;

/** The packages that have a reference, since an application imports them: the command line is run. */
export const IMPORTED = Object.keys(PACKAGES).filter((folder) => folder !== 'cli');

/**
 * The entries that an application imports, as the package's manifest has them; those for our other packages are not among them.
 * @param {string} folder below libs/
 * @returns each with the name it is imported by, and its file below src/ and dist/, without an ending
 */
export function entriesOf(folder) {
  const manifest = new URL(`libs/${folder}/package.json`, import.meta.url);
  const { name, exports } = JSON.parse(readFileSync(manifest, 'utf8'));
  return Object.entries(exports)
    .filter(([entry, { default: file }]) => file && !/^\.\/internal(\/|$)/.test(entry))
    .map(([entry, { default: file }]) => ({
      specifier: entry.replace('.', name),
      file: file.slice('./dist/'.length, -'.js'.length),
    }));
}

/** The rooms of libs/saga/src, and the rooms that each may import. errors.ts counts as part of `shared`. */
export const ROOMS = {
  shared: [],
  definition: ['shared'],
  machine: ['definition', 'shared'],
  engine: ['machine', 'definition', 'shared'],
  store: ['engine', 'machine', 'definition', 'shared'],
  shards: ['engine', 'shared'],
  nest: ['shards', 'store', 'engine', 'machine', 'definition', 'shared'],
  testing: ['nest', 'shards', 'store', 'engine', 'machine', 'definition', 'shared'],
  databases: ['store', 'shared'],
};

/** The folders of a room, and the folders of the same room that each may import. */
export const FOLDERS = {
  definition: {
    types: [],
    options: ['types'],
    decorators: ['options', 'types'],
    schedule: ['options', 'types'],
    graph: ['options', 'types'],
    build: ['schedule', 'graph', 'decorators', 'options', 'types'],
    describe: ['build', 'graph', 'decorators', 'options', 'types'],
  },
  engine: {
    payload: [],
    ports: ['payload'],
    operate: ['ports', 'payload'],
    versions: ['ports', 'payload'],
    observe: ['operate', 'ports', 'payload'],
    write: ['observe', 'versions', 'ports', 'payload'],
    schedule: ['observe', 'operate', 'write', 'ports', 'payload'],
    attempt: ['observe', 'write', 'ports', 'payload'],
    pause: ['write', 'ports', 'payload'],
    run: ['attempt', 'observe', 'operate', 'write', 'ports', 'payload'],
    worker: ['pause', 'run', 'attempt', 'observe', 'versions', 'write', 'ports', 'payload'],
  },
};
