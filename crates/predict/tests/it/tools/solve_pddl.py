"""Solves the PDDL problems of a folder with pyperplan and validates each plan with unified-planning.

For each `N.domain.pddl` and `N.problem.pddl` one line: N, then the actions of the plan or `none`.
A plan that the validator rejects is an error.
"""

import logging
import pathlib
import sys
import tempfile

from pyperplan import grounding, search
from pyperplan.heuristics.relaxation import hFFHeuristic
from pyperplan.pddl.parser import Parser
from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
from unified_planning.io import PDDLReader
from unified_planning.shortcuts import get_environment

logging.disable(logging.CRITICAL)
get_environment().credits_stream = None


def solve(domain, problem):
    parser = Parser(str(domain), str(problem))
    task = grounding.ground(parser.parse_problem(parser.parse_domain()))
    plan = search.greedy_best_first_search(task, hFFHeuristic(task))
    return None if plan is None else [operator.name.strip("()") for operator in plan]


def validate(domain, problem, plan):
    reader = PDDLReader()
    parsed = reader.parse_problem(str(domain), str(problem))
    with tempfile.NamedTemporaryFile("w", suffix=".plan") as file:
        file.write("".join(f"({action})\n" for action in plan))
        file.flush()
        steps = reader.parse_plan(parsed, file.name)
    result = SequentialPlanValidator().validate(parsed, steps)
    if result.status != ValidationResultStatus.VALID:
        sys.exit(f"{problem}: not a plan: {plan}")


for domain in sorted(pathlib.Path(sys.argv[1]).glob("*.domain.pddl")):
    number = domain.name.split(".")[0]
    problem = domain.with_name(f"{number}.problem.pddl")
    plan = solve(domain, problem)
    if plan is not None:
        validate(domain, problem, plan)
    print(number, "none" if plan is None else " ".join(plan))
