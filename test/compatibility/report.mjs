/** The table at the end, one line a row. @param {readonly { row: object, outcome: object, seconds: number }[]} tried */
export function tableOf(tried) {
  const lines = tried.map(({ row, outcome: { result, versions = {} }, seconds }) => [
    row.name,
    shown('node', versions.node ?? row.node),
    shown('nest', versions['@nestjs/core']),
    shown('typeorm', versions.typeorm),
    shown('pg', versions.pg),
    shown('postgres', versions.postgres ?? row.postgres),
    `${row.format} by ${row.build}${row.between ? `, ${row.between}` : ''}`,
    result,
    `${seconds.toFixed(1)} s`,
  ]);
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column].length))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, n) => cell.padEnd(widths[n]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function shown(name, version) {
  return `${name} ${version ?? '-'}`;
}
