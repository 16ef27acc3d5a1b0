import type { Mutant } from './mutant.js';

/** What became of a mutant. */
export interface Fate {
  readonly mutant: Mutant;
  /** Undefined: it survived. */
  readonly caughtBy: string | undefined;
  readonly seconds: number;
}

/** The page that shows what became of each. */
export function reportOf(fates: readonly Fate[]): string {
  const survivors = fates.filter(({ caughtBy }) => caughtBy === undefined).length;
  const rows = fates.map(
    ({ mutant, caughtBy }) =>
      `| ${cell(mutant.name)} | \`${mutant.file}\` | ${cell(caughtBy ?? '**nothing**')} |`,
  );
  return `# Deliberate breaks of the engine

Written by \`npm run mutants -- --report=docs/mutants.md\`. Each row is a line of the engine that was broken on purpose, and the
first test, or promise of the simulation, that noticed it. Of ${fates.length} breaks ${survivors === 0 ? 'none' : survivors} went unnoticed.

| What was broken | Where | Noticed by |
| --- | --- | --- |
${rows.join('\n')}
`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*');
}
