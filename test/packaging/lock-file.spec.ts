import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface LockedPackage {
  readonly optionalDependencies?: Record<string, string>;
}

const root = join(import.meta.dirname, '../..');

function lockedPackages(lockFile: string): Record<string, LockedPackage> {
  const lock = JSON.parse(readFileSync(join(root, lockFile), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  return lock.packages;
}

/** The folders in which Node would look for a dependency of the package at `path`, nearest first. */
function lookupPath(path: string): string[] {
  const folders = [path];
  for (
    let at = path.lastIndexOf('/node_modules/');
    at >= 0;
    at = path.lastIndexOf('/node_modules/', at - 1)
  ) {
    folders.push(path.slice(0, at));
  }
  return [...folders, ''].map((folder) => (folder === '' ? 'node_modules' : `${folder}/node_modules`));
}

function unlockedOptionals(lockFile: string): string[] {
  const packages = lockedPackages(lockFile);
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !lookupPath(path).some((folder) => `${folder}/${name}` in packages))
      .map(([name, version]) => `${path} wants ${name}@${version}`),
  );
}

// npm leaves an optional dependency that its registry did not have at that moment out of the lock file, without a word,
// and from then on `npm ci` refuses the file as out of step wherever the registry does have it.
describe.each(['package-lock.json', 'bench/package-lock.json', 'site/package-lock.json'])(
  '%s',
  (lockFile) => {
    it('locks the binaries of every platform, so that `npm ci` accepts it on all of them', () => {
      expect(unlockedOptionals(lockFile)).toEqual([]);
    });

    it('names no registry, so that it installs from whichever one the machine uses', () => {
      expect(readFileSync(join(root, lockFile), 'utf8')).not.toMatch(/"resolved": "https?:/);
    });
  },
);
