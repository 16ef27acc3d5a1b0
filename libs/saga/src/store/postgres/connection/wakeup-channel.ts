/** The channel on which processes that share a schema wake each other. */
export function wakeupChannel(schema: string): string {
  return `${schema}_wakeup`;
}
