/**
 * `npm run release`: everything that comes before a publication, and `npm publish --dry-run`; with `--
 * --publish`, the
 * publication itself. It refuses what should not be published, and says all of the reasons at once.
 *
 * 1. nothing uncommitted, a version with its section in CHANGELOG.md, a repository that provenance can point
 * to, and the SQL of the migrations as texts of their own;
 * 2. built from clean, and the package as `npm run package:check` wants it;
 * 3. no known vulnerabilities in what it depends on; if the registry cannot be asked, the release is refused;
 * 4. each package packed once, beside the SBOM of the core, in `release/`: what was looked at is what is published.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PACKAGES, publishedName } from '../rooms.mjs';
import { audit } from './audit.mjs';
import { reasonsAgainst } from './release-conditions.mjs';
import { sbom } from './sbom.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const library = `${root}/libs/saga`;
const out = `${root}/release`;
const { values } = parseArgs({ options: { publish: { type: 'boolean' } } });

const manifest = JSON.parse(readFileSync(`${library}/package.json`, 'utf8'));
const reasons = reasonsAgainst({
  uncommitted: execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' }),
  manifest,
  changelog: readFileSync(`${root}/CHANGELOG.md`, 'utf8'),
  frozen: existsSync(`${library}/src/store/postgres/schema/frozen`),
  environment: process.env,
  publish: values.publish ?? false,
});
if (reasons.length > 0) refuse(reasons);

for (const name of Object.keys(PACKAGES))
  rmSync(`${root}/libs/${name}/dist`, { recursive: true, force: true });
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
run('npm', ['run', 'package:check']);
const asked = audit();
console.log(asked.text);
if (asked.status !== 'clean') refuse([asked.text]);
writeFileSync(
  `${out}/${manifest.name}-${manifest.version}.cdx.json`,
  `${JSON.stringify(sbom(), undefined, 2)}\n`,
);
// The core first: the others depend on it.
for (const name of Object.keys(PACKAGES)) {
  run('npm', ['pack', '--pack-destination', out], `${root}/libs/${name}`);
  const tarball = `${publishedName(name)}-${manifest.version}.tgz`;
  run('npm', [
    'publish',
    `${out}/${tarball}`,
    '--access',
    'public',
    ...(values.publish ? ['--provenance'] : ['--dry-run']),
  ]);
}
console.log(
  values.publish
    ? `Published ${manifest.name}@${manifest.version}.`
    : `Nothing was published. In ${out} is what would be: npm run release -- --publish, in the workflow "release", does it.`,
);

function run(command, parameters, cwd = root) {
  execFileSync(command, parameters, { cwd, stdio: 'inherit' });
}

function refuse(reasons) {
  console.error(`Not released:\n${reasons.map((reason) => `- ${reason}`).join('\n')}`);
  process.exit(1);
}
