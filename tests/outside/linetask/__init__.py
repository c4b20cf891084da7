"""A task from outside the package: it learns a straight line. As small as a task can be."""

from hexlit.commands.tasks import TaskEntry

ENTRY = TaskEntry(
    settings="linetask.settings:LineConfig", make="linetask.task:LineTask", conf="linetask.conf"
)
