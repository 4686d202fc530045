"""Before the first model call of a run: opens its conversation, stores its words, chooses its settings."""

from __future__ import annotations

import asyncio
import logging
import re
from functools import partial

import orjson
from msgspec.structs import replace

from hub.agent.agents import Agent
from hub.agent.answer.answer_check import form_instruction
from hub.agent.conversation.conversation import RunConversation
from hub.agent.conversation.ephemeral import ephemeral_transcript
from hub.agent.conversation.window import estimate_text
from hub.agent.parts import RunDependencies
from hub.agent.prompt.facts import PromptScene, prompt_facts
from hub.agent.prompt.prompt import PromptFile
from hub.agent.prompt.prompts import Prompt
from hub.agent.record import hear, store
from hub.agent.run import AgentRun, RunConfig
from hub.agent.taint.authorship import check_extra_prompt, is_room, speaker
from hub.hooks.contract import AgentBootstrap, BeforeAgentStart, BeforeModelResolve, BeforePromptBuild
from hub.hooks.registry import Hooks
from hub.models.chat_request import chat_tools, plain
from hub.sessions.entry import user_entry_id
from hub.skills.registry import NO_SKILLS, SkillSnapshot
from hub.tools.policy import belongs_here

ROOM_TURNS = 100
"""Turns of a group's conversation that a model is sent."""

_MAY_NAME_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|webp)", re.IGNORECASE).search
_log = logging.getLogger(__name__)


async def prepare(parts: RunDependencies, run: AgentRun) -> RunConfig:
    """Store the user's words, then choose prompt, tools, model and limits; return the settings of the run.

    Raises:
        HubError: There is no such agent or model, or the transcript cannot be read.
    """
    if run.request.load is not None:
        run.request = replace(run.request, message=await run.request.load(), load=None)
    if _MAY_NAME_PICTURE(run.request.message.text) is not None:
        from hub.agent.named_pictures import with_named_pictures

        run.request = await with_named_pictures(parts, run.request)
    request = run.request
    check_extra_prompt(request)
    conversation = run.conversation = await _conversation(parts, run)
    run.transcript = conversation.transcript
    if parts.before and not run.ephemeral and request.message.content:
        await _ask_before(parts, run)
    await hear(parts, run)
    run.heard = len(conversation.transcript.branch())
    run.config = await _config(parts, run)
    run.asked = run.config.candidates[0]
    run.model = run.asked.ref
    return run.config


async def _conversation(parts: RunDependencies, run: AgentRun) -> RunConversation:
    request = run.request
    authority = request.context.authority
    if request.history is not None:
        trusted = belongs_here(authority)
        owner = authority.owner and not authority.tainted
        history = ephemeral_transcript(request.history, parts.redactor.redact, trusted=trusted, owner=owner)
        return RunConversation(history, parts.workspaces.zone())
    run.is_new = parts.sessions.get(request.session_key) is None
    session = run.session = await parts.sessions.ensure(request.session_key, person=authority.person)
    transcript = await parts.sessions.open_transcript(session)
    # What a crash cut off goes on in the conversation that has heard it.
    if request.kind == "message" and transcript.get(user_entry_id(request.run_id)) is None:
        before, session = session, await parts.sessions.hear(request.session_key, request.origin)
        run.session = session
        if session.session_id != before.session_id:
            transcript = await parts.sessions.open_transcript(session)
    if not request.results and not parts.conversations.is_prepared(session.session_id, transcript):
        await transcript.repair(ts_ms=parts.now_ms())
    return parts.conversations.of(session.session_id, transcript, parts.workspaces.zone())


async def _ask_before(parts: RunDependencies, run: AgentRun) -> None:
    """Let others insert text before the user's words, unless an earlier attempt of the run has stored them."""
    if run.conversation.transcript.get(user_entry_id(run.request.run_id)) is not None:
        return
    for before in parts.before:
        try:
            await before(run.request, partial(store, parts, run))
        except Exception:  # the preface helps, but the message can be answered without it
            _log.exception("run %s goes on without what %r had for it", run.request.run_id, before)


async def _config(parts: RunDependencies, run: AgentRun) -> RunConfig:
    request, session = run.request, run.session
    key, authority = request.session_key, request.context.authority
    agent = parts.agents.get(request.agent_id)
    if not parts.workspaces.is_ready(agent.id):
        await asyncio.to_thread(parts.workspaces.ensure, agent.id)
    hooks = parts.hooks
    model = request.model or (session and session.model) or agent.model
    if hooks is not None and BeforeModelResolve.hook in hooks.wanted:
        asked = BeforeModelResolve(**run.facts, context=run.context, text=request.message.text, model=model)
        model = (await hooks.modify(asked)).model
    candidates = await parts.models.candidates(model, session_key=key, credentials=agent.credentials)
    candidates = agent.within(parts.windows.usable(candidates))
    ref = candidates[0].ref
    skills = await _skills(parts, run, agent)
    thinking = request.thinking or (session and session.thinking) or agent.thinking
    prompt = await _prompt(parts, run, PromptScene(agent, key, authority, ref, session, thinking, skills.listing))
    run.clocked = parts.clock.monotonic()
    run.fixed_tokens = prompt.tokens
    if request.client_tools and (theirs := chat_tools(request.client_tools)):
        run.fixed_tokens += estimate_text(orjson.dumps(theirs, default=plain).decode())
    run.trace.prompt = {"tokens": prompt.tokens, "system_chars": len(prompt.system), "tools": len(prompt.specs)}
    run.trace.parts = prompt.pieces
    limits = agent.limits
    if request.timeout_s is not None and request.timeout_s < limits.seconds:
        limits = replace(limits, seconds=request.timeout_s)
    turns = ROOM_TURNS if not run.ephemeral and is_room(key) else None
    return RunConfig(agent, prompt, candidates, thinking, skills, limits, speaker(run.context.authority), turns)


async def _skills(parts: RunDependencies, run: AgentRun, agent: Agent) -> SkillSnapshot:
    request, session_id = run.request, run.session.session_id if run.session is not None else None
    if parts.skills is None:
        return NO_SKILLS
    return await parts.skills.snapshot(agent.id, request.session_key, session_id, agent.skills, request.skills)


async def _prompt(parts: RunDependencies, run: AgentRun, scene: PromptScene) -> Prompt:
    """Return the system prompt with its tools, as changed by hooks."""
    agent, authority, key = scene.agent, scene.authority, scene.session_key
    tools = parts.tools.available(authority, agent.policies_in(key, authority, parts.tools.rules, scene.model))
    facts = prompt_facts(parts, scene)
    hooks, extra, form = parts.hooks, run.request.extra_system_prompt, run.request.form
    if form is not None:
        extra = "\n\n".join(each for each in (extra, form_instruction(form)) if each)
    if hooks is not None and AgentBootstrap.hook in hooks.wanted:
        facts = replace(facts, files=await _files(hooks, run, facts.files))
    if hooks is not None and BeforePromptBuild.hook in hooks.wanted:
        building = BeforePromptBuild(**run.facts, context=run.context, model=scene.model, text=run.request.message.text)
        added = (await hooks.modify(building)).append
        extra = "\n\n".join(each for each in (extra, added) if each)
    prompt = parts.prompts.of(facts, tools, run.request.configured_prompt, extra)
    if hooks is None or BeforeAgentStart.hook not in hooks.wanted:
        return prompt
    asked = BeforeAgentStart(**run.facts, context=run.context, model=scene.model, system=prompt.system)
    system = (await hooks.modify(asked)).system
    tokens = prompt.tokens + estimate_text(system) - estimate_text(prompt.system)
    return replace(prompt, system=system, tokens=tokens)


async def _files(hooks: Hooks, run: AgentRun, files: tuple[PromptFile, ...]) -> tuple[PromptFile, ...]:
    """Return the workspace files for the prompt, as hooks replaced them."""
    known = {file.name: file for file in files}
    texts = {file.name: file.text or "" for file in files}
    chosen = (await hooks.modify(AgentBootstrap(**run.facts, context=run.context, files=dict(texts)))).files
    return tuple(
        known[name] if texts.get(name) == text else PromptFile(str(name), str(text), len(str(text)))
        for name, text in chosen.items()
    )
