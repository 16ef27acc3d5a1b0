/**
 * `npm run sbom`: what of others the published library brings along, as a CycloneDX document on standard
 * output. Peers are
 * the application's own, and in its SBOM.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PACKAGE = 'nestjs-durable-saga';

/** @returns {object} the document, with the library as its subject */
export function sbom() {
  const document = JSON.parse(asNpmWritesIt());
  const subject = document.components.find(isLibrary);
  // npm's subject is the whole workspace, which is not published.
  const workspace = document.metadata.component['bom-ref'];
  return {
    ...document,
    metadata: { ...document.metadata, component: named(subject) },
    components: document.components.filter((component) => component !== subject).map(named),
    dependencies: document.dependencies.filter(({ ref }) => ref !== workspace),
  };
}

function asNpmWritesIt() {
  const omitted = ['dev', 'peer', 'optional'].flatMap((kind) => ['--omit', kind]);
  const options = ['--sbom-format', 'cyclonedx', '--sbom-type', 'library', '--package-lock-only'];
  return execFileSync('npm', ['sbom', ...options, ...omitted, '--workspace', PACKAGE], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function isLibrary({ purl }) {
  return purl.startsWith(`pkg:npm/${PACKAGE}@`);
}

/** npm gives workspaces the names of their folders. */
function named(component) {
  const [, scope, name] = /^pkg:npm\/(?:(%40[^/]+)\/)?([^@]+)@/.exec(component.purl);
  return { ...component, name, ...(scope && { group: decodeURIComponent(scope) }) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(JSON.stringify(sbom(), undefined, 2));
