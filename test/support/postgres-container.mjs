/** Does a Docker engine answer, on this machine or where DOCKER_HOST says? */
export async function dockerAnswers() {
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

/**
 * PostgreSQL in a container, with as many connections as tests need.
 * @param {string} image say, `postgres:15`
 * @returns {Promise<{ url: string, stop(): Promise<unknown> }>}
 */
export async function startPostgresContainer(image) {
  const { GenericContainer, Wait } = await import('testcontainers');
  const settings = ['max_connections=300', 'shared_preload_libraries=pg_stat_statements'];
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_PASSWORD: 'test' })
    .withCommand(['postgres', ...settings.flatMap((setting) => ['-c', setting])])
    .withExposedPorts(5432)
    // It starts once to set itself up, and once more to serve.
    .withWaitStrategy(Wait.forLogMessage('database system is ready to accept connections', 2))
    .start();
  const url = `postgres://postgres:test@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
  return { url, stop: () => container.stop() };
}
