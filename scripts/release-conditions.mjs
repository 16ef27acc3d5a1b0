/**
 * Why this may not be released; empty if it may.
 * @param {object} state
 * @param {string} state.uncommitted what `git status --porcelain` says
 * @param {{ version: string, repository?: { url?: string } }} state.manifest package.json of the library
 * @param {string} state.changelog CHANGELOG.md
 * @param {boolean} state.frozen the SQL of the migrations is a text of its own, which later changes do not reach
 * @param {NodeJS.ProcessEnv} state.environment
 * @param {boolean} state.publish for real
 * @returns {string[]}
 */
export function reasonsAgainst({ uncommitted, manifest, changelog, frozen, environment, publish }) {
  const reasons = [];
  if (uncommitted.trim() !== '')
    reasons.push(`There are changes that are not committed; commit or stash them:\n${uncommitted.trimEnd()}`);
  if (!hasSection(changelog, manifest.version))
    reasons.push(
      `CHANGELOG.md has no entries under "## ${manifest.version}". Give what is under "Unreleased" that heading, or set ` +
        `the version in libs/saga/package.json.`,
    );
  if (!frozen)
    reasons.push(
      'The migrations execute what builds the SQL now, and a later change would change them. Write their SQL as texts into ' +
        'libs/saga/src/store/postgres/schema/frozen, and let saga-migrations.ts execute these texts.',
    );
  if (publish) reasons.push(...provenanceMisses(manifest, environment));
  return reasons;
}

/** A heading of this version, and something under it. */
function hasSection(changelog, version) {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/[\s\n]/, 1)[0] === version);
  return (
    section !== undefined &&
    section
      .split('\n')
      .slice(1)
      .some((line) => line.trim() !== '')
  );
}

/** npm signs where a package was built, and by whom: it has to be a workflow that may say so, of the repository that package.json names. */
function provenanceMisses({ repository }, environment) {
  const { GITHUB_REPOSITORY: building, ACTIONS_ID_TOKEN_REQUEST_URL: mayIdentifyItself } = environment;
  if (!mayIdentifyItself)
    return [
      'Provenance is signed by the workflow that publishes: run the workflow "release" on GitHub, with `id-token: write`.',
    ];
  if (!repository?.url?.replace(/\.git$/, '').endsWith(`/${building}`))
    return [
      `libs/saga/package.json names ${repository?.url ?? 'no repository'}, and this is built in ${building}; npm accepts ` +
        `provenance only for "repository": { "type": "git", "url": "git+https://github.com/${building}.git" }.`,
    ];
  return [];
}
