/**
 * `node bench/packages.mjs`, of built packages: what an installation of each package adds to an application of Nest, TypeORM and pg, as the table of
 * docs/compatibility.md. The command line is installed as npx installs it, alone. Times are of `npm install` with npm's cache
 * filled: the median, the least and the most of three.
 */
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES, publishedName } from '../rooms.mjs';
import { INSTALL } from '../test/compatibility/installation.mjs';

const LIBS = fileURLToPath(new URL('../libs/', import.meta.url));
const APPLICATION = [
  ...['@nestjs/common@12', '@nestjs/core@12', '@nestjs/platform-express@12', '@nestjs/typeorm@12'],
  ...['pg@8', 'reflect-metadata@0.2', 'rxjs@7', 'typeorm@1'],
];
const ROUNDS = 3;

const folder = mkdtempSync(join(tmpdir(), 'saga-sizes-'));
try {
  const packed = new Map(
    Object.keys(PACKAGES).map((name) => {
      const [file] = JSON.parse(
        npm(join(LIBS, name), 'pack', '--json', '--silent', '--pack-destination', folder),
      );
      return [name, { ...file, tarball: join(folder, file.filename) }];
    }),
  );
  const empty = project('empty');
  const application = project('application');
  install(application, APPLICATION);
  const withCore = project('with-core', application);
  install(withCore, [packed.get('saga').tarball]);

  print(['package', 'packed, kB', 'unpacked, MB', 'installed, MB', 'packages', 'seconds']);
  print(Array(6).fill('---'));
  for (const [name, { size, unpackedSize }] of packed) {
    const before = { saga: application, cli: empty }[name] ?? withCore;
    const tarballs = [...withDependencies(name)].map((one) => packed.get(one).tarball);
    const rounds = Array.from({ length: ROUNDS }, () => {
      const after = project('after', before);
      const began = performance.now();
      install(after, tarballs);
      const seconds = (performance.now() - began) / 1_000;
      const added = {
        seconds,
        bytes: bytesOf(after) - bytesOf(before),
        packages: countOf(after) - countOf(before),
      };
      rmSync(after, { recursive: true });
      return added;
    });
    const [{ bytes, packages }] = rounds;
    const [least, median, most] = rounds.map(({ seconds }) => seconds).sort((a, b) => a - b);
    print([
      publishedName(name),
      (size / 1e3).toFixed(0),
      (unpackedSize / 1e6).toFixed(2),
      (bytes / 1e6).toFixed(1),
      packages,
      `${median.toFixed(1)} (${least.toFixed(1)}–${most.toFixed(1)})`,
    ]);
  }
} finally {
  rmSync(folder, { recursive: true });
}

function withDependencies(name) {
  return new Set([name, ...PACKAGES[name].flatMap((one) => [...withDependencies(one)])]);
}

function project(name, from) {
  const path = join(folder, name);
  // Hard links: npm replaces files, and changes none.
  if (from) execFileSync('cp', ['-al', from, path]);
  else {
    mkdirSync(path);
    writeFileSync(join(path, 'package.json'), '{ "private": true, "type": "module" }');
  }
  return path;
}

function install(path, packages) {
  npm(path, ...INSTALL, ...packages);
}

function npm(cwd, ...words) {
  return execFileSync('npm', words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function filesOf(path) {
  const below = join(path, 'node_modules');
  try {
    return readdirSync(below, { recursive: true }).map((file) => join(below, file));
  } catch {
    return [];
  }
}

function bytesOf(path) {
  return filesOf(path).reduce((bytes, file) => {
    const found = lstatSync(file);
    return found.isFile() ? bytes + found.size : bytes;
  }, 0);
}

function countOf(path) {
  return filesOf(path).filter((file) => /node_modules\/(@[^/]+\/)?[^@/.][^/]*\/package\.json$/.test(file))
    .length;
}

function print(cells) {
  console.log(`| ${cells.join(' | ')} |`);
}
