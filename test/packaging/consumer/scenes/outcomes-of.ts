/** Plays scenes at once, and tells what became of each. */
export async function outcomesOf(
  scenes: Readonly<Record<string, () => Promise<void>>>,
): Promise<Record<string, string | undefined>> {
  const outcomes = await Promise.all(
    Object.entries(scenes).map(async ([name, scene]) => {
      const failure = await scene().then(
        () => undefined,
        (error: Error) => error.stack,
      );
      return [name, failure ?? 'as documented'] as const;
    }),
  );
  return Object.fromEntries(outcomes);
}
