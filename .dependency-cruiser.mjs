import { entriesOf, FOLDERS, PACKAGES, ROOMS } from './rooms.mjs';

const SRC = '^libs/saga/src/';
const anyOf = (names) => `(${names.join('|')})/`;

/** The files of a package that others may import. */
const entries = (name) => [
  ...entriesOf(name).map(({ file }) => `^libs/${name}/src/${file}\\.ts$`),
  `^libs/${name}/src/internal(-backend|-runtime)?\\.ts$`,
];

const packages = Object.entries(PACKAGES).map(([name, allowed]) => ({
  name: `package-${name}`,
  comment: `${name} may import ${allowed.join(', ') || 'no other package'}, by its entries only: see rooms.mjs`,
  severity: 'error',
  from: { path: `^libs/${name}/src/`, pathNot: '\\.spec\\.ts$' },
  to: {
    path: '^libs/',
    pathNot: [`^libs/${name}/`, ...allowed.flatMap(entries)],
  },
}));

const rooms = Object.entries(ROOMS).map(([room, allowed]) => ({
  name: `room-${room}`,
  comment: `${room} may import ${[room, ...allowed].join(', ')} only: see rooms.mjs`,
  severity: 'error',
  from: { path: `${SRC}${room}/`, pathNot: '\\.spec\\.ts$' },
  to: { path: SRC, pathNot: [`${SRC}${anyOf([room, ...allowed])}`, `${SRC}errors\\.ts$`] },
}));

const folders = Object.entries(FOLDERS).flatMap(([room, table]) =>
  Object.entries(table).map(([folder, allowed]) => ({
    name: `folder-${room}-${folder}`,
    comment: `${room}/${folder} may import ${[folder, ...allowed].join(', ')} of its room only: see rooms.mjs`,
    severity: 'error',
    from: { path: `${SRC}${room}/${folder}/`, pathNot: '\\.spec\\.ts$' },
    to: { path: `${SRC}${room}/`, pathNot: `${SRC}${room}/${anyOf([folder, ...allowed])}` },
  })),
);

/** The arrows between the packages and between the rooms of the core, and no import circle anywhere. */
export default {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'Files that import each other, types included, can only be understood together',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...packages,
    ...rooms,
    ...folders,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|node_modules)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
