/** Does a subscription's filter cover a topic? `+` stands for one level, `#` at the end for any number of them. */
export function covers(filter: string, topic: string): boolean {
  const [wanted, levels] = [filter.split('/'), topic.split('/')];
  for (const [n, want] of wanted.entries()) {
    if (want === '#') return true;
    if (n >= levels.length || (want !== '+' && want !== levels[n])) return false;
  }
  return wanted.length === levels.length;
}
