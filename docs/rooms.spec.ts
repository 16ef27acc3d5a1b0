import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FOLDERS, PACKAGES, publishedName, ROOMS } from '../rooms.mjs';

const page = readFileSync(fileURLToPath(new URL('architecture.md', import.meta.url)), 'utf8');
const LIBS = fileURLToPath(new URL('../libs/', import.meta.url));
const SRC = `${LIBS}saga/src/`;

/** The first and the last cell of each row of the table after a mark. */
function tableAfter(mark: string): Record<string, string[]> {
  const [, rest = ''] = page.split(`<!-- ${mark} -->`);
  const rows = rest.trim().split('\n\n', 1)[0]!.split('\n').slice(2);
  return Object.fromEntries(
    rows.map((row) => {
      const cells = row.split('|').slice(1, -1);
      return [
        cells[0]!.replaceAll('`', '').trim(),
        [...cells.at(-1)!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
      ];
    }),
  );
}

describe('the packages of the library', () => {
  test('are shown with the imports that lint allows them', () => {
    expect(tableAfter('packages')).toEqual(PACKAGES);
  });

  test('are all that are released', () => {
    const released = readdirSync(LIBS).filter((name) => {
      const manifest = JSON.parse(readFileSync(`${LIBS}${name}/package.json`, 'utf8')) as { private?: true };
      return !manifest.private;
    });
    expect(released.sort()).toEqual(Object.keys(PACKAGES).sort());
  });

  test.each(Object.keys(PACKAGES))('%s depends on the packages that it may import', (name) => {
    const { dependencies = {}, peerDependencies = {} } = JSON.parse(
      readFileSync(`${LIBS}${name}/package.json`, 'utf8'),
    ) as Record<string, Record<string, string>>;
    const own = Object.keys({ ...dependencies, ...peerDependencies }).filter((one) =>
      one.startsWith('nestjs-durable-saga'),
    );
    expect(own.sort()).toEqual(PACKAGES[name]!.map(publishedName).sort());
  });

  test.each(Object.keys(PACKAGES).filter((name) => name !== 'saga'))(
    '%s: the README of its sources names files that it has',
    (name) => void expectFiles(`${LIBS}${name}/src/`),
  );
});

describe('the rooms of the library', () => {
  test('are shown with the imports that lint allows them', () => {
    expect(tableAfter('rooms')).toEqual(ROOMS);
  });

  test('are shown with the order of their folders that lint allows', () => {
    const folders = Object.entries(FOLDERS).flatMap(([room, table]) =>
      Object.entries(table).map(([folder, allowed]) => [`${room}/${folder}`, allowed] as const),
    );
    expect(tableAfter('folders')).toEqual(Object.fromEntries(folders));
  });

  test('are all the folders that there are', () => {
    const folders = (path: string) =>
      readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? [entry.name] : [],
      );
    expect(folders(SRC).sort()).toEqual(Object.keys(ROOMS).sort());
    for (const [room, table] of Object.entries(FOLDERS))
      expect(folders(`${SRC}${room}`).sort()).toEqual(Object.keys(table).sort());
  });

  test.each(Object.entries(ROOMS))(
    '%s: its README names files that it has, and what it may import',
    (room, allowed) => {
      const readme = expectFiles(`${SRC}${room}/`);
      const imports = /^May import: (.*)\.$/m.exec(readme)?.[1] ?? '';
      expect([...imports.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual(allowed);
    },
  );
});

/** Returns the text of the README of a folder. */
function expectFiles(folder: string): string {
  const readme = readFileSync(`${folder}README.md`, 'utf8');
  const [, files = ''] = readme.split('Start here:');
  const named = [...files.matchAll(/^- `([^`]+)`/gm)].map(([, file]) => file!);
  expect(named.length).toBeGreaterThan(1);
  expect(named.filter((file) => !existsSync(`${folder}${file}`))).toEqual([]);
  return readme;
}
