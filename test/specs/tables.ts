/** What the handlers of most specifications need. */
export const TABLES = `
  create schema app;
  create table app.witness (
    task_id bigint not null,
    event text not null,
    attempt integer not null,
    pid integer not null,
    at timestamptz not null default clock_timestamp()
  );
  create table app.gate ();
  create table app.outages (type text primary key);
  create table app.agent_events (task_id bigint primary key, agent text not null, summary text not null);
  create table app.embeddings (event bigint not null, job bigint not null);
`;
