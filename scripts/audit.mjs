/**
 * `npm run audit:runtime`: are there known vulnerabilities in what the published library depends on? Ends
 * with 1 if there
 * are, and with 2 if the registry could not be asked, which is no answer.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** @returns {{ status: 'clean' | 'vulnerable' | 'not asked', text: string }} */
export function audit() {
  const asked = ['audit', '--omit=dev', '--omit=peer', '--omit=optional', '--json'];
  const { stdout, error } = spawnSync('npm', [...asked, '--workspace', 'nestjs-durable-saga'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    encoding: 'utf8',
  });
  const report = parsed(stdout);
  const found = report?.metadata?.vulnerabilities;
  if (found === undefined) return { status: 'not asked', text: whyNot(report, stdout, error) };
  if (found.total === 0)
    return { status: 'clean', text: 'No known vulnerabilities in runtime dependencies.' };
  return {
    status: 'vulnerable',
    text: `Known vulnerabilities: ${Object.keys(report.vulnerabilities).join(', ')}`,
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function whyNot(report, stdout, error) {
  const reason = report?.message ?? report?.error?.summary ?? (error?.message || stdout);
  return `The registry could not be asked for known vulnerabilities, so the result is unknown: ${reason || 'no reason given'}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { status, text } = audit();
  console.log(text);
  process.exitCode = { clean: 0, vulnerable: 1, 'not asked': 2 }[status];
}
