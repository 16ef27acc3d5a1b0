/**
 * The rooms of libs/saga/src, and the rooms that each may import. `npm run lint` holds the code to it
 * (.dependency-cruiser.mjs), and docs/architecture.md shows it. errors.ts counts as part of `shared`.
 */
export const ROOMS = {
  shared: [],
  definition: ['shared'],
  machine: ['definition', 'shared'],
  engine: ['machine', 'definition', 'shared'],
  store: ['engine', 'machine', 'definition', 'shared'],
  shards: ['engine', 'shared'],
  declared: ['definition', 'shared'],
  nest: ['declared', 'shards', 'store', 'engine', 'machine', 'definition', 'shared'],
  messaging: ['nest', 'shards', 'store', 'engine', 'definition', 'shared'],
  telemetry: ['nest', 'engine', 'machine', 'definition', 'shared'],
  admin: ['nest', 'store', 'engine', 'machine', 'definition', 'shared'],
  testing: ['nest', 'shards', 'store', 'engine', 'machine', 'definition', 'shared'],
  databases: ['store', 'shared'],
  daemon: [
    ...['admin', 'telemetry', 'messaging', 'nest', 'declared'],
    ...['store', 'engine', 'machine', 'definition', 'shared'],
  ],
  cli: [
    ...['daemon', 'admin', 'nest', 'declared'],
    ...['shards', 'store', 'engine', 'machine', 'definition', 'shared'],
  ],
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
