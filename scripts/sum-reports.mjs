/**
 * The end of `.ci/run`: prints how many tests passed and failed in all reports of a folder, as its last line. The reports are
 * jest's (`--json`), the one of the compatibility matrix, and those of steps that failed without a report. A spec file that
 * could not be loaded is one failure. Before it come the tests that took longest, and then what failed and why, so that the end
 * of the output is enough to see it. Ends with 1 if anything failed, or if there is no report.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const [folder] = process.argv.slice(2);
const sum = { passed: 0, failed: 0 };
const tests = [];
const failures = [];
for (const name of readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .sort()) {
  const report = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  tests.push(...(report.testResults ?? []).flatMap(({ assertionResults }) => assertionResults));
  failures.push(...failuresOf(name.replace(/\.json$/, ''), report));
  const count = countOf(report);
  console.log(`${name.replace(/\.json$/, '')}: ${textOf(count)}`);
  sum.passed += count.passed;
  sum.failed += count.failed;
}
const longest = tests.sort((a, b) => (b.duration ?? 0) - (a.duration ?? 0)).slice(0, 15);
for (const { duration, fullName } of longest) console.log(`${Math.round(duration / 1_000)} s: ${fullName}`);
for (const { name, why } of failures) console.log(`failed: ${name}\n${why}`);
console.log(textOf(sum));
process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1;

/** A run that jest calls unsuccessful has at least one failure, whatever its counts are. */
function countOf(report) {
  if (report.numPassedTests === undefined) return report;
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  return { passed: report.numPassedTests, failed: report.success ? failed : Math.max(failed, 1) };
}

function textOf({ passed, failed }) {
  return `${passed} passed, ${failed} failed`;
}

function failuresOf(step, report) {
  if (!report.testResults)
    return (
      report.failures?.map(({ name, why }) => ({ name: `${step} ${name}`, why: shortened(why ?? '') })) ??
      (report.failed > 0 ? [{ name: step, why: '    see its output above' }] : [])
    );
  return report.testResults.flatMap(({ name, message, assertionResults }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0 && message) return [{ name, why: shortened(message) }];
    return failed.map(({ fullName, failureMessages }) => ({
      name: fullName,
      why: shortened(failureMessages.join('\n')),
    }));
  });
}

function shortened(message) {
  const lines = stripVTControlCharacters(message).split('\n');
  return lines
    .slice(0, 15)
    .map((line) => `    ${line.slice(0, 200)}`)
    .join('\n');
}
